#!/usr/bin/env bash
# Makes a package, installs it into a bare system and profiles a program there, as root and as another user.
#
# usage: package_test.sh CPACK BUILD_DIR VERSION deb|tarball
#
# The bare system is a chroot in a mount namespace, made of this machine's own files: those of a few essential
# packages and, for the .deb, of the packages that it declares as its dependencies. So it needs no network, and
# works for ordinary users where they can make namespaces; else 77 says that this part was skipped.
# `scripts/verify packages` does the same in a Debian from a mirror.
set -euo pipefail

cpack=$1
build=$2
version=$3
kind=$4
here=$(cd "$(dirname "$0")" && pwd)

if [[ -z ${SAMPLE_PACKAGE_TEST:-} ]]; then
    namespaces=(unshare --mount)
    ((EUID == 0)) || namespaces+=(--user --map-root-user)
    if "${namespaces[@]}" true; then
        SAMPLE_PACKAGE_TEST=chroot exec "${namespaces[@]}" "$0" "$@"
    fi
    SAMPLE_PACKAGE_TEST=contents
fi

work=$(mktemp -d)
root=$work/root
# shellcheck disable=SC2317  # reached through the trap
clean_up() {
    if [[ -d $root ]]; then
        umount --lazy "$root"/{dev,proc,sys}
    fi
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

fail() {
    echo "$1" >&2
    exit 1
}

make_package() {
    if ! "$cpack" --config "$build/CPackConfig.cmake" -G "$1" -B "$work/packages" >"$work/log" 2>&1; then
        cat "$work/log" >&2
        exit 1
    fi
}

# expect_files LIST FILE...: each is in the list, a line each.
expect_files() {
    local file
    for file in "${@:2}"; do
        grep -qxF "$file" <<<"$1" || fail "$file is not in the package: $1"
    done
}

# depends_on: the installed packages that satisfy dependencies, read as dpkg writes them, one a line.
depends_on() {
    tr ',' '\n' | sed 's/([^)]*)//g; s/:any//g; s/ //g' | while IFS='|' read -ra alternatives; do
        for package in "${alternatives[@]}"; do
            if dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
                echo "$package"
                break
            fi
        done
    done
}

# make_root PACKAGE...: a system of these, what they depend on, and what use_sample.sh needs.
make_root() {
    local wanted=(coreutils dash grep libc-bin perl-base "$@") package more
    local -A present=()
    mkdir -p "$root"/{dev,proc,sys,tmp,usr/{bin,lib,lib64,sbin},var/lib/dpkg/{info,updates}}
    chmod 755 "$work" "$root"
    chmod 1777 "$root/tmp"
    ln -s usr/bin usr/lib usr/lib64 usr/sbin "$root"
    while ((${#wanted[@]})); do
        package=${wanted[-1]}
        unset 'wanted[-1]'
        if [[ -z ${present[$package]:-} ]]; then
            present[$package]=yes
            mapfile -t more < <(dpkg-query -W -f='${Depends},${Pre-Depends}' "$package" | depends_on)
            wanted+=("${more[@]}")
        fi
    done
    dpkg-query -L "${!present[@]}" | grep '^/' | grep -v '^/usr/share' | while read -r file; do
        [[ -d $file ]] || echo "${file#/}"
    done | tar -c -C / -T - | tar -x --no-same-owner -C "$root"
    dpkg-query -s "${!present[@]}" >"$root/var/lib/dpkg/status"
    ln -sf dash "$root/usr/bin/sh"
    for file in dev proc sys; do
        mount --rbind "/$file" "$root/$file"
    done
    cp "$here/use_sample.sh" "$root/tmp"
}

# use_sample SAMPLE AGENT: as root, and as nobody where this process may become nobody.
use_sample() {
    local users=(0)
    if run_in_root 65534 true 2>/dev/null; then
        users+=(65534)
    fi
    for user in "${users[@]}"; do
        run_in_root "$user" /tmp/use_sample.sh "$@" "$version"
    done
}

# run_in_root USER COMMAND...: a user namespace refuses to set groups, even root's.
run_in_root() {
    local become=()
    (($1 == 0)) || become=("--userspec=$1:$1")
    env -i PATH=/usr/bin:/usr/sbin chroot "${become[@]}" "$root" "${@:2}"
}

list_root() {
    find "$root" -xdev -path "$root/var/lib/dpkg" -prune -o -print | grep -v /etc/ld.so.cache | sort
}

case $kind in
    deb)
        make_package DEB
        deb=$work/packages/sample_${version}_$(dpkg --print-architecture).deb
        contents=$(dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$')
        expect_files "$contents" ./usr/{bin/sample,lib/libsample.so,lib/libsample-{analysis,itt,nvtx,ompt}.so,include/sample/version.h} \
            ./usr/share/{man/man1/sample.1.gz,doc/sample/README.md,doc/sample/docs/command-line.md} \
            ./usr/share/bash-completion/completions/sample ./usr/share/zsh/vendor-completions/_sample \
            ./usr/share/fish/vendor_completions.d/sample.fish ./usr/lib/cmake/sample/sampleConfig.cmake
        if grep -v '^\./usr/' <<<"$contents"; then
            fail "these are outside /usr"
        fi
        [[ $SAMPLE_PACKAGE_TEST == chroot ]] || exit 77

        mapfile -t packages < <(dpkg-deb --field "$deb" Depends | depends_on)
        make_root "${packages[@]}"
        list_root >"$work/before"
        dpkg --root="$root" --install "$deb" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
        use_sample sample libsample.so
        dpkg --root="$root" --purge sample >"$work/log" 2>&1 || fail "$(cat "$work/log")"
        list_root | diff "$work/before" - || fail "these files are left, or gone"
        ;;
    tarball)
        make_package TGZ
        name=sample-$version-linux-$(uname -m)
        contents=$(tar -tf "$work/packages/$name.tar.gz" | grep -v '/$')
        expect_files "$contents" "$name"/{bin/sample,lib/libsample.so,lib/libsample-{analysis,itt,nvtx,ompt}.so,share/man/man1/sample.1}
        if grep -v "^$name/" <<<"$contents"; then
            fail "these are outside $name"
        fi
        [[ $SAMPLE_PACKAGE_TEST == chroot ]] || exit 77

        make_root
        mkdir -p "$root/home/user/any place"
        tar -x --no-same-owner -f "$work/packages/$name.tar.gz" -C "$root/home/user/any place"
        # LD_PRELOAD takes no blank: the agent is preloaded by a link.
        said=$(run_in_root 0 "/home/user/any place/$name/bin/sample" --quiet -o /tmp/blank.utrace -- true 2>&1) ||
            fail "from a folder with a blank: $said"
        [[ -z $said && -s $root/tmp/blank.utrace ]] || fail "from a folder with a blank: $said"
        mv "$root/home/user/any place" "$root/home/user/any-place"
        use_sample "/home/user/any-place/$name/"{bin/sample,lib/libsample.so}
        ;;
    *)
        echo "unknown package $kind" >&2
        exit 2
        ;;
esac

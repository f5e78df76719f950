#!/usr/bin/env bash
# Installs a build into a new prefix, moves it, and uses it from there as a user's project would.
#
# usage: install_test.sh CMAKE BUILD_DIR VERSION LIBDIR CASE
set -euo pipefail

cmake=$1
build=$2
version=$3
libdir=$4
case=$5
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
prefix=$work/moved
mv "$work/first" "$prefix"

expect() {
    if [[ $1 != "$2" ]]; then
        printf 'found    %s\nexpected %s\n' "$1" "$2" >&2
        exit 1
    fi
}

analyzed="/dev/null: no regular file; give its descriptor instead"

# The consumer ends with 7.
run_consumer() {
    local status=0
    "$@" >"$work/out" || status=$?
    expect "$status: $(cat "$work/out")" "7: $version $version"
}

case $case in
    cmake_package)
        "$cmake" -G Ninja -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
        "$cmake" --build "$work/build" >/dev/null
        run_consumer "$work/build/consumer"
        expect "$("$work/build/analyzer")" "$analyzed"
        for tool in profiler:bin/sample agent:"$libdir"/libsample.so; do
            if [[ -e $prefix/${tool#*:} ]]; then
                expect "$(realpath "$(cat "$work/build/${tool%:*}.path")")" "$prefix/${tool#*:}"
            fi
        done
        ;;
    pkg_config)
        export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
        expect "$(pkg-config --modversion sample)" "$version"
        # shellcheck disable=SC2046  # the flags are words
        c++ $(pkg-config --cflags --libs sample) "$here/consumer/consumer.cpp" -o "$work/consumer"
        run_consumer "$work/consumer"
        # shellcheck disable=SC2046  # the flags are words
        c++ -std=c++17 "$here/consumer/analyzer.cpp" $(pkg-config --cflags --libs sample-analysis) -o "$work/analyzer"
        expect "$(LD_LIBRARY_PATH=$prefix/$libdir "$work/analyzer")" "$analyzed"
        expect "$(realpath -m "$(pkg-config --variable=profiler sample)")" "$prefix/bin/sample"
        expect "$(realpath -m "$(pkg-config --variable=agent sample)")" "$prefix/$libdir/libsample.so"
        ;;
    profiles_from_prefix)
        c++ -I"$prefix/include" "$here/consumer/consumer.cpp" -o "$work/consumer"
        cd "$work"
        run_consumer "$prefix/bin/sample" --freq 1k -o "$work/run.utrace" -- "$work/consumer"
        "$prefix/bin/sample" report "$work/run.utrace" >/dev/null
        read_columns="import sample_profiler; print(sample_profiler.Recording('run.utrace').functions()['name'] != [])"
        expect "$(PYTHONPATH=$prefix/lib/python3/dist-packages /usr/bin/python3 -c "$read_columns")" True
        ;;
    *)
        echo "unknown case $case" >&2
        exit 2
        ;;
esac

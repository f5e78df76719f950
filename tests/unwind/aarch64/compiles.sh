#!/bin/sh
# Compiles core/ and unwind/ for aarch64, by Debian's cross compiler, with warnings as errors.
# With CMAKE_CXX_COMPILER_LAUNCHER (ccache) through that.
#
#     compiles.sh ROOT FLAG…
set -eu
root=$1
shift
compiler=aarch64-linux-gnu-g++
if ! command -v "$compiler" >/dev/null; then
    echo "no $compiler: install g++-aarch64-linux-gnu, or run scripts/install-packages" >&2
    exit 1
fi
foreign='-DSAMPLE_UNWIND_FOREIGN="tests/unwind/aarch64/aarch64.h"'
cd "$root"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
find core unwind -type d -exec mkdir -p "$objects/{}" \;
# What is x86-64's own says so in its name. utf8cpp is headers only, and no processor's.
find core unwind -name '*.cpp' ! -name 'x86_64_*' -print0 |
    xargs -0 -I '{}' -P 2 ${CMAKE_CXX_COMPILER_LAUNCHER:+"$CMAKE_CXX_COMPILER_LAUNCHER"} \
        "$compiler" -std=c++20 -O2 "$@" "$foreign" -Werror -I. -Iinclude \
        -isystem /usr/include/utf8cpp -c '{}' -o "$objects/{}.o"
# And the headers that no source includes.
find unwind -name '*.h' -exec printf '#include "%s"\n' {} + |
    "$compiler" -std=c++20 "$@" "$foreign" -Werror -I. -Iinclude -x c++ -fsyntax-only -

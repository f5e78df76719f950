#!/usr/bin/env bash
# Compiles the public headers by themselves, with every warning, and runs a program that calls all of them without an
# agent: it must say that there is none, and change nothing.
#
# usage: headers_test.sh INCLUDE_FOLDER
set -euo pipefail

include=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without the line that hides their own warnings from users.
mkdir "$work/sample"
for header in "$include"/sample/*.h "$include"/sample/*.hpp; do
    sed '/#pragma GCC system_header/d' "$header" >"$work/sample/${header##*/}"
done
cp "$here/calls_everything.c" "$work/calls_everything.cpp"
sed -i 's|sample/profiler.h"|sample/profiler.hpp"|' "$work/calls_everything.cpp"

warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O1 -I"$work")
for compiler in gcc clang-14; do
    "$compiler" -std=c11 "${warnings[@]}" "$here/calls_everything.c" -o "$work/c"
    "$work/c"
done
for compiler in g++ clang++-14; do
    "$compiler" -std=c++17 "${warnings[@]}" "$work/calls_everything.cpp" -o "$work/cpp"
    "$work/cpp"
done
# With SAMPLE_TRACE_DISABLED what a statement alone has used is not unused.
cat >"$work/disabled.c" <<'END'
#define SAMPLE_TRACE_DISABLED
#include "sample/trace.h"
SAMPLE_TRACE_MEMORY_HEAP(arena, "arena", 0);
int say(const char* (*text)(void), int (*number)(void));
int say(const char* (*text)(void), int (*number)(void)) {
    const char* format_argument = text();
    const char* logged = text();
    const char* region_name = text();
    const char* category = text();
    const char* kind_name = text();
    const char* noted = text();
    const char* block = text();
    const char* old = text();
    const int bytes = number();
    const int alignment = number();
    const int kind = number();
    SAMPLE_TRACE_BOOKMARK("%s", format_argument);
    SAMPLE_TRACE_LOG("category", SAMPLE_TRACE_WARNING, "%s", logged);
    sample_trace_region_handle region = SAMPLE_TRACE_REGION_BEGIN(region_name, category);
    SAMPLE_TRACE_REGION_END(region);
    SAMPLE_TRACE_FRAME_KIND(kind, kind_name);
    SAMPLE_TRACE_ZONE_NOTED("load", sample_trace_text("file", noted), sample_trace_integer("n", 1),
                            sample_trace_real("r", 0.5));
    SAMPLE_TRACE_MEMORY_REALLOC(arena, old, block, bytes, alignment);
    return 0;
}
END
for compiler in "gcc -x c -std=c11" "clang-14 -x c -std=c11" "g++ -x c++ -std=c++17" "clang++-14 -x c++ -std=c++17"; do
    read -ra command <<<"$compiler"
    "${command[@]}" -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O1 -I"$work" -c "$work/disabled.c" -o "$work/disabled.o"
done
# Nothing to link with, and no loader: it runs all the same.
gcc -std=c11 -O1 -static -I"$include" "$here/calls_everything.c" -o "$work/static"
"$work/static"

# What may be called by a signal handler needs little of its stack: only what goes by a socket has a large frame. (Data go
# by it always, and are compiled into whatever includes the header.)
cat >"$work/direct.c" <<'END'
#include "sample/profiler.h"
int direct(struct sample_profiling* handle, struct sample_profiling_state* state);
int direct(struct sample_profiling* handle, struct sample_profiling_state* state) {
    return sample_profiling_start(handle, 0) + sample_profiling_stop(handle) + sample_profiling_pause(handle) +
           sample_profiling_resume(handle) + sample_profiling_status(handle, state);
}
END
for compiler in "gcc -x c -std=c11" "clang-14 -x c -std=c11" "g++ -x c++ -std=c++17" "clang++-14 -x c++ -std=c++17"; do
    for level in -O0 -O2; do
        read -ra command <<<"$compiler"
        "${command[@]}" "$level" -I"$work" -fstack-usage -c "$work/direct.c" -o "$work/direct.o"
        grep -q direct "$work/direct.su"
        awk -F'\t' -v by="$compiler $level" \
            '$2 > 2048 && $1 !~ /by_socket_|request_data_/ { print by ": " $1 " has a frame of " $2 " bytes"; bad = 1 } END { exit bad }' \
            "$work/direct.su"
    done
done

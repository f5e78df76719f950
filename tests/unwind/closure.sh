#!/bin/sh
# The handler's part of the unwinder, as one object, needs nothing from outside but what is allowed,
# calls nothing through a pointer and runs nothing at start-up.
#
#     closure.sh ARCHIVE
set -eu
archive=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ld -r -o "$work/closure.o" --whole-archive "$archive"

# _GLOBAL_OFFSET_TABLE_: how position-independent code finds the next one.
# _dl_find_object: lock-free in glibc since 2.35; weak, so other C libraries do without.
nm --undefined-only --format=just-symbols "$work/closure.o" |
    grep -v -x -e _GLOBAL_OFFSET_TABLE_ -e _dl_find_object >"$work/undefined" || true
objdump --disassemble --no-show-raw-insn "$work/closure.o" |
    grep -E '(call|jmp) +\*' >"$work/indirect" || true
readelf --section-headers --wide "$work/closure.o" |
    grep -E '\.(init_array|ctors|tbss|tdata)' >"$work/start" || true

status=0
for finding in undefined indirect start; do
    if [ -s "$work/$finding" ]; then
        echo "$finding:"
        head -20 "$work/$finding"
        status=1
    fi
done
exit $status

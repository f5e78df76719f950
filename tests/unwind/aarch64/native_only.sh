#!/bin/sh
# The handler's archive holds no code for a foreign architecture, which is all in a library of its own.
#
#     native_only.sh HANDLER_ARCHIVE AARCH64_ARCHIVE
set -eu
mentions() {
    nm --defined-only --demangle --format=just-symbols "$1" | grep -c 'arch::Aarch64' || true
}
if [ "$(mentions "$1")" != 0 ]; then
    echo "$1 has instances for aarch64"
    exit 1
fi
if [ "$(mentions "$2")" = 0 ]; then
    echo "$2 has none: this test would not notice them"
    exit 1
fi

#!/usr/bin/env bash
# Compiles one small handler and gives it to scripts/check-handler: docs/handler-proof.md.
#
# usage: handler_refusal_test.sh COMPILER SOURCE RULE [FLAG...]
#
# RULE is the one rule that must refuse it, or "none": then it must be accepted. The flags are those that
# the real handler is compiled with, and after them what this case changes.
set -euo pipefail

compiler=$1
source=$2
rule=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$compiler" -std=c++20 -fPIC "$@" -c "$here/handlers/$source.cpp" -o "$work/bad.o"
status=0
"$here/../../scripts/check-handler" --symbols "$here/allowed_symbols.txt" --sites "$here/named_sites.txt" \
    "$work/bad.o" 2>"$work/refusals" || status=$?
cat "$work/refusals"
if [[ $rule == none ]]; then
    exit "$status"
fi
if ((status != 1)); then
    echo "check-handler ended with $status, expected 1" >&2
    exit 1
fi
grep -q "^$rule: " "$work/refusals"

#!/usr/bin/env bash
# Links the small agent of agent.cpp with one fault and gives it to scripts/check-agent: docs/handler-proof.md.
#
# usage: agent_refusal_test.sh COMPILER CASE RULE
#
# RULE is the one rule that must refuse it, or "none": then it must be accepted.
# shellcheck disable=SC2054  # the commas belong to -Wl
set -euo pipefail

compiler=$1
case=$2
rule=$3
here=$(cd "$(dirname "$0")" && pwd)
scripts=$here/../../scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

handler_flags=(-std=c++20 -O2 -fPIC -fno-exceptions -ftls-model=initial-exec -fno-stack-protector
    -fvisibility=hidden)
agent_flags=(-std=c++20 -O2 -fPIC -fvisibility=hidden)
link_flags=(-nodefaultlibs -Wl,-z,now)
map=$here/exports.map
handler=$work/handler.o
extra=()

case $case in
    good) ;;
    other_object) handler=$work/other.o ;;
    second_object) extra=("$work/other.o") ;;
    unmarked_object) handler=$work/good.o ;;
    weak_function) ;;
    own_symbol) agent_flags+=(-DOWN_MEMCPY) ;;
    lazy_binding) link_flags=(-nodefaultlibs -Wl,-z,lazy) ;;
    text_relocation)
        agent_flags+=(-fno-PIC -mcmodel=large)
        link_flags+=(-Wl,-z,notext)
        ;;
    extra_library) link_flags=(-Wl,-z,now -Wl,--no-as-needed) ;;
    search_path) link_flags+=(-Wl,-rpath,/nowhere) ;;
    extra_export)
        agent_flags+=(-DEXTRA_EXPORT)
        sed 's/agent_entry;/agent_entry; agent_extra;/' "$map" >"$work/exports.map"
        map=$work/exports.map
        ;;
    missing_export)
        printf '{ global: agent_entry; agent_missing; local: *; };\n' >"$work/exports.map"
        ;;
    versioned_export)
        sed 's/^{/SAMPLE_1 {/' "$map" >"$work/exports.map"
        map=$work/exports.map
        ;;
    executable_stack) link_flags+=(-Wl,-z,execstack) ;;
    *)
        echo "unknown case $case" >&2
        exit 2
        ;;
esac

"$compiler" "${handler_flags[@]}" -c "$here/handlers/good.cpp" -o "$work/good.o"
"$compiler" "${handler_flags[@]}" -c "$here/handlers/named_syscall.cpp" -o "$work/more.o"
"$scripts/make-handler-object" "$work/handler.o" "$work/good.o"
case $case in
    second_object) "$scripts/make-handler-object" "$work/other.o" "$work/more.o" ;;
    weak_function) objcopy --weaken-symbol=_Z6handleRK6Recordm "$work/handler.o" ;;
    other_object) "$scripts/make-handler-object" "$work/other.o" "$work/good.o" "$work/more.o" ;;
esac
"$compiler" "${agent_flags[@]}" -c "$here/agent.cpp" -o "$work/agent.o"
"$compiler" -shared "${link_flags[@]}" -Wl,--version-script="$map" -o "$work/libagent.so" \
    "$work/agent.o" "$handler" "${extra[@]}" -lc

checked_map=$here/exports.map
if [[ $case == missing_export ]]; then
    checked_map=$work/exports.map
fi
status=0
"$scripts/check-agent" "$work/libagent.so" "$work/handler.o" "$checked_map" 2>"$work/refusals" ||
    status=$?
cat "$work/refusals"
if [[ $rule == none ]]; then
    exit "$status"
fi
if ((status != 1)); then
    echo "check-agent ended with $status, expected 1" >&2
    exit 1
fi
if grep -v "^$rule: " "$work/refusals"; then
    echo "refused by another rule" >&2
    exit 1
fi

#!/usr/bin/env bash
# Gives scripts/check-floors small trees with one fault each. usage: check_floors_test.sh CHECK CASE
set -euo pipefail

check=$1
case=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root"/{cmake,core,trace,callgraph,symbolize,export,import,cli,include/sample}
touch "$root"/{core/id.h,trace/event.h,symbolize/elf.h,export/json.h,import/folded.h,include/sample/version.h}
echo '#include "core/id.h"' >"$root/trace/event.cpp"
printf '#include "trace/event.h"\n#include "export/json.h"\n#include <vector>\n' >"$root/cli/main.cpp"
echo 'add_library(sample_options INTERFACE)
add_library(sample::options ALIAS sample_options)' >"$root/cmake/Options.cmake"
echo 'add_library(sample_core STATIC id.cpp)
add_library(sample::core ALIAS sample_core)' >"$root/core/CMakeLists.txt"
echo 'add_library(sample_export STATIC json.cpp)  # target_link_libraries(sample_export cli)
target_link_libraries(sample_export PUBLIC sample::options sample::core z)' >"$root/export/CMakeLists.txt"
echo 'add_executable(sample_cli main.cpp)
target_link_libraries(sample_cli PRIVATE sample_export)' >"$root/cli/CMakeLists.txt"

expect='' # A text that the refusal must contain; empty: the tree must be accepted.
case $case in
    accepts_downward_uses) ;;
    accepts_foreign_project)
        mkdir -p "$root/core/consumer"
        echo 'project(consumer)' >"$root/core/consumer/CMakeLists.txt"
        echo '#include <export/json.h>' >"$root/core/consumer/main.cpp"
        ;;
    refuses_upward_include)
        echo '#include "export/json.h"' >"$root/core/id.cpp"
        expect='core/id.cpp: #include export/json.h: core/ may not use export/'
        ;;
    refuses_sibling_include)
        echo '  #  include "symbolize/elf.h"' >"$root/callgraph/tree.cpp"
        expect='callgraph/tree.cpp: #include symbolize/elf.h: callgraph/ may not use symbolize/'
        ;;
    refuses_import_from_export)
        echo '#include "export/json.h"' >"$root/import/folded.cpp"
        expect='import/folded.cpp: #include export/json.h: import/ may not use export/'
        ;;
    refuses_path_that_climbs)
        echo '#include "../trace/event.h"' >"$root/core/id.cpp"
        expect='#include ../trace/event.h: is not a file, named'
        ;;
    refuses_own_header_in_angles)
        echo '#include <export/json.h>' >"$root/core/id.cpp"
        expect='#include export/json.h: our own headers take quotes'
        ;;
    refuses_upward_link)
        echo 'target_link_libraries(sample_core
            PRIVATE sample::options
                    sample_export)' >>"$root/core/CMakeLists.txt"
        expect='target_link_libraries(sample_core sample_export): core/ may not link export/'
        ;;
    refuses_unknown_target)
        echo 'target_link_libraries(sample_core PRIVATE sample::nowhere)' >>"$root/core/CMakeLists.txt"
        expect='no CMakeLists.txt defines this target'
        ;;
    refuses_folder_without_floor)
        mkdir "$root/misc"
        touch "$root/misc/odds.cpp"
        expect='misc/: has no floor'
        ;;
    *)
        echo "unknown case $case" >&2
        exit 2
        ;;
esac

status=0
"$check" "$root" 2>"$root/refusals" || status=$?
cat "$root/refusals"
if [[ -z $expect ]]; then
    exit "$status"
fi
if ((status != 1)); then
    echo "status $status, expected 1" >&2
    exit 1
fi
grep -qF "$expect" "$root/refusals"
if (($(wc -l <"$root/refusals") != 1)); then
    echo "expected one refusal" >&2
    exit 1
fi

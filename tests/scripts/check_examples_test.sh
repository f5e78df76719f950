#!/usr/bin/env bash
# Gives scripts/check-examples pages with one fault each. usage: check_examples_test.sh CHECK CASE
set -euo pipefail

check=$1
case=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# A line of the list of functions: 37 columns and the name.
row() { printf '   1.000  10.0 %%      1.000  10.0 %%  %s\n' "$1"; }

page() { # of a width; $2 stands among the functions.
    local view
    for view in 'report' 'report --view callgraph --min 5' 'report --view functions' 'annotate f' 'diff'; do
        if [[ $case != refuses_missing_page || $view != diff ]]; then
            printf '$ sample %s app.utrace\n./app  00:00:01.000\n\n' "$view"
        fi
        if [[ $view == *functions ]]; then
            printf '%s\n' "$2"
        fi
    done >"$root/app-$1.txt"
}

expect=''
line=$(row 'std::map<…>::find(…)'; row '…::Table::find'; row '[not sampled]')
case $case in
    accepts_good_pages) ;;
    accepts_a_component_that_has_no_room) line=$(row "a_function_with_a_na…me_that_has_no_room_at") ;;
    refuses_long_line)
        line=$(printf '%201s' x)
        expect='longer than 200 columns'
        ;;
    refuses_cut_component)
        line=$(row 'find_…_before')
        expect='cuts a last component'
        ;;
    refuses_scope_beside_a_cut_component)
        line=$(row 'ns::a_function_with_nam…that_has_no_room_at')
        expect='cuts a last component'
        ;;
    refuses_unseen_above_function)
        line=$(row '[not sampled]'; row 'find')
        expect='below [not sampled]'
        ;;
    refuses_home)
        line='/home/somebody/app.cpp'
        expect="somebody's home"
        ;;
    refuses_missing_page) expect='no page of sample diff' ;;
    refuses_missing_width) expect='lacks a width' ;;
    *)
        echo "no such case: $case" >&2
        exit 2
        ;;
esac
for width in 80 100 200; do
    if [[ $width == 80 || $case == refuses_long_line ]]; then
        page "$width" "$line"
    elif [[ $width == 100 || $case != refuses_missing_width ]]; then
        page "$width" ''
    fi
done

if said=$("$check" "$root" 2>&1); then
    [[ -z $expect ]] || { echo "accepted, though: $expect" >&2; exit 1; }
else
    [[ -n $expect && $said == *"$expect"* ]] || { echo "refused with: $said" >&2; exit 1; }
fi

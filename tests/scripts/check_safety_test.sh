#!/usr/bin/env bash
# Gives scripts/check-safety a page with one fault each. usage: check_safety_test.sh CHECK CASE
# shellcheck disable=SC2016 # the backticks are the page's own
set -euo pipefail

check=$1
case=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/docs" "$root/tests/e2e"
printf 'TEST_P(Forks,\n       are_joined) {\n}\n' >"$root/tests/e2e/forks_e2e.cpp"

row() { # The page with one row, whose last cell is $1.
    printf '# Safety\n\n| call | what happens | test |\n|---|---|---|\n| fork | joins | %s |\n' "$1"
}

expect=''
case $case in
    accepts_tests_that_are_there) row '`Forks.are_joined`' >"$root/docs/safety.md" ;;
    accepts_a_limit_that_says_so) row 'none: the kernel decides' >"$root/docs/safety.md" ;;
    refuses_test_that_is_not_there)
        row '`Forks.are_joined`, `Forks.fly`' >"$root/docs/safety.md"
        expect='there is no test Forks.fly'
        ;;
    refuses_row_without_test)
        row 'of course' >"$root/docs/safety.md"
        expect='names no test'
        ;;
    refuses_limit_without_row)
        row '`Forks.are_joined`' >"$root/docs/safety.md"
        printf '# It\n\n## Limits\n\n* fork only.\n* Nothing on Sundays.\n\n## More\n' >"$root/README.md"
        expect="the README's limit: Nothing on Sundays"
        ;;
    refuses_page_without_tables)
        echo 'All is well.' >"$root/docs/safety.md"
        expect='has no table'
        ;;
    *)
        echo "no such case: $case" >&2
        exit 2
        ;;
esac

if said=$("$check" "$root" 2>&1); then
    [[ -z $expect ]] || { echo "accepted, though: $expect" >&2; exit 1; }
else
    [[ -n $expect && $said == *"$expect"* ]] || { echo "refused with: $said" >&2; exit 1; }
fi

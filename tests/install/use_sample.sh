#!/bin/sh
# Profiles a program with an installed `sample`, with the front end and without, and reads the recordings.
#
# usage: use_sample.sh SAMPLE AGENT VERSION      (AGENT as LD_PRELOAD takes it)
#
# Runs inside systems that have nothing but Debian's essential packages: the program is perl.
set -eu

sample=$1
agent=$2
version=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run_perl() {
    status=0
    # shellcheck disable=SC2016  # perl's own variables
    "$@" perl -e '$i++ while $i < 2e7; print "counted\n"; exit 7' >out 2>err || status=$?
    if [ "$status: $(cat out)" != "7: counted" ]; then
        echo "ended with $status and printed: $(cat out err)" >&2
        exit 1
    fi
}

[ "$("$sample" --version)" = "sample $version" ]
run_perl "$sample" --freq 1k -o started.utrace --
run_perl env LD_PRELOAD="$agent" SAMPLE_FREQ=1k SAMPLE_OUTPUT=preloaded.utrace
for recording in started preloaded; do
    # A disk that is slow does not hold the program's end up for long.
    until "$sample" report --view stats --json "$recording.utrace" | grep -q '"whole": *true'; do
        sleep 0.1
    done
    "$sample" report --view functions "$recording.utrace" >listed
    if ! grep -q Perl_runops_standard listed; then
        echo "$recording.utrace does not have perl's main loop:" >&2
        cat listed >&2
        exit 1
    fi
done
echo "profiled perl as $(id -u), $("$sample" report --view stats started.utrace | grep -w samples)"

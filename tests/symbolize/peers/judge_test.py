#!/usr/bin/env python3
"""Does tests/symbolize/peers/run find out who is right? With small programs, and with answers of
ours that are spoilt on purpose.

usage: judge_test.py NAME_ADDRESSES PROGRAM...     (programs with inlined calls, without -g1)
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")
TOOL, PROGRAMS = os.path.abspath(sys.argv[1]), [os.path.abspath(one) for one in sys.argv[2:]]

# What spoils the answers of TOOL: a filter of its lines.
SPOILT = {
    "lines": "sed -E 's/:[0-9]+$/:999/'",
    "callers": r"awk '/^0x/ { print; left = 2; next } left > 0 { print; --left }'",
    "functions": r"sed -E 's/^([a-z_]+)\(.*\)$/wrong()/'",
}


def run_with(filter_, program):
    """(exit status, what was printed); `filter_` spoils our answers."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        tool = os.path.join(folder, "bin", "name_addresses")
        with open(tool, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n"%s" "$@" | %s\n' % (TOOL, filter_))
        os.chmod(tool, 0o755)
        done = subprocess.run([RUN, "--build", folder, "--peer", "addr2line", program],
                              stdout=subprocess.PIPE, check=False, encoding="utf-8")
    return done.returncode, done.stdout


def counts(text):
    """peer -> (asked, the same, ours, theirs, undecided)"""
    found = re.findall(r"^\S+ +(\S+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +[\d.]+ %$", text, re.M)
    return {peer: tuple(map(int, numbers)) for peer, *numbers in found}


class Verdicts(unittest.TestCase):
    def test_true_answers_are_supported_everywhere(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                status, text = run_with("cat", program)
                self.assertEqual(status, 0, text)
                for asked, same, ours, theirs, undecided in counts(text).values():
                    self.assertGreater(asked, 20, text)
                    self.assertEqual((same + ours, theirs, undecided), (asked, 0, 0), text)

    def test_a_peer_that_is_wrong_is_told_from_us(self):
        _, text = run_with("cat", next(one for one in PROGRAMS if "clang_5" in one))
        self.assertGreater(counts(text)["addr2line"][2], 0, text)
        self.assertIn("it does not read range lists by index", text)

    def test_spoilt_answers_are_refused(self):
        for what, filter_ in SPOILT.items():
            with self.subTest(spoilt=what):
                status, text = run_with(filter_, PROGRAMS[0])
                self.assertEqual(status, 1, text)
                self.assertGreater(counts(text)["addr2line"][3], 10, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

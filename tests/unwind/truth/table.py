#!/usr/bin/env python3
"""Writes and checks what is known of the truth's configurations.

usage: table.py --update TOOL RUNS    (the target unwind_truth_table does that)
       table.py --check RUNS

--update runs every line of RUNS, arguments of TOOL (unwind_truth), and writes expected.txt and the tables
in docs/unwinding-truth.md. Reasons are kept; a class that is new gets the reason "unexplained", which the
tool refuses: name one of the reasons in its place, or add one, and call --update again.
--check refuses a document whose tables are not those of expected.txt, or whose configurations are not
those of RUNS. The counts of instructions are those of the machine that wrote it.
"""
import collections
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.txt"
DOCUMENT = HERE.parents[2] / "docs" / "unwinding-truth.md"
SUMMARY = re.compile(r"(\S+): (\d+) instructions, (\d+) equal \((\d+) by a guess\), (\d+) incomplete, "
                     r"(\d+) misguessed, (\d+) wrong;")
WIDTH = 110


class Table:
    def __init__(self):
        self.comments = []
        self.reasons = {}  # name: text
        self.reason_of = {}  # (verdict, place): name
        self.maxima = collections.defaultdict(dict)  # (verdict, place): {config: maximum}

    def read(self):
        current = None
        for line in EXPECTED.read_text().splitlines():
            words = line.split()
            if line.startswith("#"):
                self.comments.append(line)
            elif line.startswith(" "):
                self.maxima[current].update({config: int(words[0]) for config in words[1:]})
            elif words and words[0] == "reason":
                self.reasons[words[1]] = " ".join(words[2:])
            elif words:
                current = (words[0], words[1])
                self.reason_of[current] = words[2]
        return self

    def write(self):
        lines = self.comments + [""]
        lines += [f"reason {name} {text}" for name, text in self.reasons.items()]
        for key in sorted(self.maxima, key=lambda key: (self.order(key), key)):
            lines += ["", f"{key[0]} {key[1]} {self.reason(key)}"]
            by_maximum = collections.defaultdict(list)
            for config, maximum in self.maxima[key].items():
                by_maximum[maximum].append(config)
            for maximum, configs in sorted(by_maximum.items()):
                lines += textwrap.wrap(" ".join(configs), WIDTH, initial_indent=f"    {maximum} ",
                                       subsequent_indent=f"    {maximum} ", break_on_hyphens=False)
        EXPECTED.write_text("\n".join(lines) + "\n")

    def reason(self, key):
        return self.reason_of.get(key, "unexplained")

    def order(self, key):
        names = list(self.reasons)
        return names.index(self.reason(key)) if self.reason(key) in names else -1


def place_text(verdict, places):
    return f"{verdict} in " + ", ".join(f"`{place}`" for place in places)


def mismatch_lines(table):
    """One row a reason: what, where, in how many configurations."""
    lines = ["| reason | what the walk does | configurations |", "|---|---|---|"]
    for name, text in table.reasons.items():
        by_verdict = collections.defaultdict(list)
        configs = {}
        for key in sorted(table.maxima):
            if table.reason(key) == name:
                by_verdict[key[0]].append(key[1])
                configs.update(dict.fromkeys(table.maxima[key]))
        what = "; ".join(place_text(verdict, places) for verdict, places in by_verdict.items())
        some = ", ".join(configs) if len(configs) <= 6 else f"{len(configs)}"
        lines.append(f"| {text} | {what} | {some} |")
    return lines


def matrix_lines(results):
    lines = ["| configuration | instructions | equal | of them by a guess | incomplete | misguessed | wrong |",
             "|---|---|---|---|---|---|---|"]
    lines += [f"| {name} | " + " | ".join(f"{int(count):,}" for count in counts) + " |"
              for name, counts in results.items()]
    totals = [sum(int(counts[i]) for counts in results.values()) for i in range(6)]
    lines.append("| **all** | " + " | ".join(f"**{total:,}**" for total in totals) + " |")
    return lines


def part(name, text):
    begin, end = f"<!-- {name}: written by table.py -->\n", f"<!-- end of {name} -->"
    found = re.search(re.escape(begin) + "(.*?)" + re.escape(end), text, re.DOTALL)
    if not found:
        sys.exit(f"table.py: {DOCUMENT} has no part for {name}")
    return found.span(1), found.group(1)


def replace_part(name, text, lines):
    (begin, end), _ = part(name, text)
    return text[:begin] + "\n".join(lines) + "\n" + text[end:]


def configs_of(runs):
    return [line.split()[1] for line in runs.read_text().splitlines()]


def update(tool, runs):
    table = Table().read()
    table.maxima.clear()
    results = {}
    for line in runs.read_text().splitlines():
        done = subprocess.run([tool, "--print-expected", *line.split()], capture_output=True, text=True,
                              check=False)
        summary = SUMMARY.search(done.stderr)
        if done.returncode != 0 or not summary:
            sys.exit(f"table.py: {line}: {done.stderr}")
        results[summary[1]] = summary.groups()[1:]
        print(done.stderr, end="", flush=True)
        for entry in done.stdout.splitlines():
            config, verdict, place, maximum = entry.split()
            table.maxima[verdict, place][config] = int(maximum)
    unexplained = [" ".join(key) for key in table.maxima if table.reason(key) not in table.reasons]
    if not unexplained:
        used = {table.reason(key) for key in table.maxima}
        table.reasons = {name: text for name, text in table.reasons.items() if name in used}
    table.write()
    text = replace_part("matrix", DOCUMENT.read_text(), matrix_lines(results))
    DOCUMENT.write_text(replace_part("mismatches", text, mismatch_lines(Table().read())))
    for line in unexplained:
        print("unexplained:", line)
    return 1 if unexplained else 0


def check(runs):
    text = DOCUMENT.read_text()
    configs = configs_of(runs)
    table = Table().read()
    failures = []
    if part("mismatches", text)[1].splitlines() != mismatch_lines(table):
        failures.append("its table of mismatches is not that of expected.txt")
    rows = [line.split(" | ")[0][2:] for line in part("matrix", text)[1].splitlines()[2:-1]]
    if rows != configs:
        failures.append(f"its configurations are not those that are built: {sorted(set(rows) ^ set(configs))}")
    strangers = {config for maxima in table.maxima.values() for config in maxima} - set(configs)
    if strangers:
        failures.append(f"expected.txt speaks of configurations that there are not: {sorted(strangers)}")
    for failure in failures:
        print(f"{DOCUMENT.name}: {failure}; build the target unwind_truth_table", file=sys.stderr)
    return 1 if failures else 0


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--update":
        return update(arguments[1], pathlib.Path(arguments[2]))
    if len(arguments) == 2 and arguments[0] == "--check":
        return check(pathlib.Path(arguments[1]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

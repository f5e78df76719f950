"""Reads perf script text by the rules that its readers share: FlameGraph's stackcollapse-perf.pl,
speedscope's and Firefox's importers. What they would not take is an error here.
"""

import re
from dataclasses import dataclass

HEADING = re.compile(r"^(\S.+?)\s+(\d+)/(\d+)\s+(?:(\d+\.\d{9}):\s+)?(\d+)\s+(\S+):\s*$")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((\S*)\)$")


@dataclass
class Entry:
    command: str
    pid: int
    tid: int
    time_s: float
    period: int
    event: str
    stack: list  # (name, module), root first


def read(text):
    entries = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        heading = HEADING.match(lines[0])
        if not heading:
            raise ValueError(f"not the first line of a sample: {lines[0]}")
        command, pid, tid, time, period, event = heading.groups()
        stack = []
        for line in lines[1:]:
            frame = FRAME.match(line)
            if not frame or frame[2].startswith("(") or re.search(r"\+0x[\da-f]+$", frame[2]):
                raise ValueError(f"not a frame that readers keep as it is: {line}")
            stack.append((frame[2], frame[3]))
        entries.append(Entry(command, int(pid), int(tid), float(time) if time else None, int(period), event,
                             stack[::-1]))
    return entries


def totals(entries, weights=None):
    """By (name, module): [total, self] of the periods, or of `weights`; recursion counted once."""
    sums = {}
    for entry, weight in zip(entries, weights or [entry.period for entry in entries]):
        for frame in set(entry.stack):
            sums.setdefault(frame, [0, 0])[0] += weight
        sums[entry.stack[-1]][1] += weight
    return sums


def time_shares(entries):
    """What speedscope takes for each entry's weight: from halfway to the entry before to halfway to the one
    behind, of the same thread. Seconds."""
    shares = [0.0] * len(entries)
    threads = {}
    for index, entry in enumerate(entries):
        threads.setdefault((entry.command, entry.pid, entry.tid), []).append(index)
    for indices in threads.values():
        for before, after in zip(indices, indices[1:]):
            half = (entries[after].time_s - entries[before].time_s) / 2
            shares[before] += half
            shares[after] += half
    return shares

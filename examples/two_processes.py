#!/usr/bin/env python3
"""Profiles two running processes together and prints what each function of both took, inclusively.

    sample -- ./server & sample -- ./client &
    PYTHONPATH=PREFIX/lib/python3/dist-packages python3 two_processes.py client server 5

The processes, by name or id, are recorded by `sample` already, each by a run of its own. examples/two_processes.cpp is
the same in C++.
"""
import sys
import time

from sample_profiler import Profiler, deserialize

MOST_ROWS = 20


def print_functions(data):
    print(f"{data.name} ({data.pid})")
    functions = sorted(deserialize(data.json).functions, key=lambda function: -function.total_duration)
    for function in functions[:MOST_ROWS]:
        print(f"{function.total_duration / 1000:12.2f} ms  {function.label}")


def check(process, what, result):
    if not result:
        sys.exit(f"{process}: {what}: {result}")


def main(words):
    if len(words) < 2:
        sys.exit("usage: two_processes.py PROCESS PROCESS [SECONDS]")
    try:
        profilers = {word: Profiler(int(word) if word.isdigit() else word) for word in words[:2]}
    except LookupError as problem:
        sys.exit(str(problem))
    for process, profiler in profilers.items():
        profiler.on_new_data = print_functions
        check(process, "start", profiler.start())
    time.sleep(float(words[2]) if len(words) > 2 else 5)
    for process, profiler in profilers.items():
        check(process, "stop", profiler.stop())
        check(process, "data", profiler.request_data())


if __name__ == "__main__":
    main(sys.argv[1:])

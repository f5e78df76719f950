"""The figures of naming: all addresses of a recording, by a fresh process, files in the page cache."""
import os
import shutil
import statistics

import workloads
from harness import Failed, note, run, told

MOST_SECONDS = 2
MOST_CACHED_SECONDS = 0.2
MOST_MEGABYTES = 500

# Only what is built in: the interpreter alone is built, without its libraries. Compiling, classes,
# exceptions, generators, containers, text and long numbers, so that much of it runs.
PYTHON_SCRIPT = """
import sys, time
SOURCE = '''
class Row:
    def __init__(self, key, *rest, **named):
        self.key, self.rest, self.named = key, rest, named
    def __lt__(self, other):
        return self.key < other.key
def numbers(limit):
    for number in range(limit):
        try:
            yield 1 / (number %% 3)
        except ZeroDivisionError as error:
            yield len(str(error))
async def unused(a, /, b, *, c=%d):
    return [x async for x in a if x] or {**b, "c": c}
match {"a": [1, 2]}:
    case {"a": [first, *others]}:
        pass
'''
end = time.monotonic() + float(sys.argv[1])
turn = 0
while time.monotonic() < end:
    turn += 1
    names = {}
    exec(compile(SOURCE % turn, "row%d" % turn, "exec"), names)
    rows = [names["Row"](turn * 7919 % n, n, name="x" * (n % 13)) for n in range(1, 400)]
    rows.sort(reverse=turn % 2 == 0)
    table = {row.key: f"{row.key:>8x} {sum(row.rest):,}" for row in rows}
    words = " ".join(table.values()).upper().replace("A", "bc").split()
    total = sum(names["numbers"](300)) + len(set(words) | frozenset(map(len, words)))
    power = pow(3, turn % 500 + 100) // 7 % 10 ** 40
    data = bytes(word.encode()[0] for word in words) * 3
    view = memoryview(data)[::2].tobytes().find(b"F")
    sorted(zip(words, range(len(words))), key=lambda pair: (pair[0][::-1], -pair[1]))
"""


def cpython(bench):
    program = os.path.join(bench.programs, "debug", "cpython", "python")
    if not os.path.exists(program):
        raise Failed("build %s first: tests/symbolize/peers/build" % program)
    script = bench.file("names.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(PYTHON_SCRIPT)
    library = os.path.join(bench.programs, "source", "Python-3.11.2", "Lib")
    return ["env", "PYTHONPATH=" + library, program, "-S", script, str(bench.seconds(60))]


def clang(bench):
    if not shutil.which("clang++-14"):
        raise Failed("clang-14 is not installed")
    workloads.cc1plus(bench)  # writes the source: most headers of the standard library
    source = bench.file("headers.cpp")
    times = bench.count(4, 1)
    command = "clang++-14 -std=c++20 -O2 -c -o /dev/null " + source
    return ["sh", "-c", "; ".join([command] * times)]


def names(bench, table):
    """All distinct addresses of a recording at 10 kHz, named."""
    tool = os.path.join(bench.build, "bin", "name_recording")
    if not os.path.exists(tool):
        raise Failed("build the target name_recording first")
    for name, workload in ("CPython, debug build", cpython), ("clang-14, stripped", clang):
        try:
            bench.record(workload(bench), report=False)
        except Failed as failure:
            table.failed("naming: " + name, failure)
            continue
        show(bench, table, name, tool)


def show(bench, table, name, tool):
    path = bench.file("recording.utrace")
    kept = bench.file("kept names")
    run([tool, path])
    cold = [run([tool, path]) for _ in range(bench.count(5, 2))]
    note("  %s: %d addresses, %d named, %d functions, %d frames; CPU %.3f s" % (
        name, *(told(cold[0], key) for key in ("addresses", "named", "functions", "frames")),
        statistics.median(told(one, "cpu_us") for one in cold) / 1e6))
    show_runs(table, "cold: " + name, cold, MOST_SECONDS)
    run([tool, path, kept])
    show_runs(table, "with the cache: " + name, [run([tool, path, kept]) for _ in cold],
              MOST_CACHED_SECONDS)


def show_runs(table, name, done, most_seconds):
    times = sorted(told(one, "wall_us") / 1e6 for one in done)
    table.row("naming %d addresses, %s" % (told(done[0], "addresses"), name),
              "%.3f s (%.3f-%.3f)" % (statistics.median(times), times[0], times[-1]),
              "<= %s s" % most_seconds, statistics.median(times) <= most_seconds, len(done))
    peak = max(told(one, "peak_kib") for one in done) * 1024 / 1e6
    table.row("peak memory, " + name, "%.0f MB" % peak, "<= %d MB" % MOST_MEGABYTES,
              peak <= MOST_MEGABYTES, len(done))


ALL = {"names": names}

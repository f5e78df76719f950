"""What `sample diff` says on a machine whose speed drifts: of equal programs, and of a slower one."""
import contextlib
import json
import os
import random
import subprocess
import sys
import threading

from harness import note

RUNS = 3  # recordings a side
HOWS = {"durations": [], "--normalize": ["--normalize"],
        "--normalize-by step_one": ["--normalize-by", "step_one"]}


@contextlib.contextmanager
def coming_and_going_load():
    """A process a CPU that is busy, in its caches too, at times: each for 0.2 to 3 s, then as long
    not."""
    busy = "data = bytearray(1 << 25)\nwhile True: data[::64] = bytes(1 << 19)"
    ended = threading.Event()

    def come_and_go(seed):
        chance = random.Random(seed)
        while not ended.wait(chance.uniform(0.2, 3)):
            with subprocess.Popen([sys.executable, "-c", busy]) as load:
                ended.wait(chance.uniform(0.2, 3))
                load.kill()

    threads = [threading.Thread(target=come_and_go, args=(seed,))
               for seed in range(os.cpu_count() or 1)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def called(bench, before, after, options):
    """{what is called: how} of the whole and all functions; and the worst of step_two's verdicts."""
    found = json.loads(bench.sample("diff", "--json", "--fold", "inlined", "--names", "noargs",
                                    *options, *before, "--", *after))
    compared = {"the whole": found["whole"]}
    for one in found["functions"]:
        compared[one["name"]] = one["self"]
        compared[one["name"] + " with what it calls"] = one["total"]
    return {name: one["verdict"] for name, one in compared.items()
            if one["verdict"] in ("worse", "better")}


def spread(bench, files):
    totals = [json.loads(bench.sample("report", "--view", "stats", "--json", one))["sampled_us"]
              for one in files]
    return max(totals) / min(totals) - 1


def compare(bench, table):
    """Equal programs, and a step of 1.10 x, recorded in turn under a load that comes and goes."""
    repetitions = bench.count(20, 3)
    rounds = str(bench.count(30_000, 10_000))
    false = dict.fromkeys(HOWS, 0)
    true = dict.fromkeys(HOWS, 0)
    programs = {"a": "steps", "b": "steps", "slower": "steps_little_slower"}
    with coming_and_going_load():
        for repetition in range(repetitions):
            files = {side: [] for side in programs}
            for run in range(RUNS):
                for side, program in programs.items():
                    bench.record([bench.target(program), "--rounds", rounds], report=False)
                    files[side].append(bench.file("%s%d.utrace" % (side, run)))
                    os.replace(bench.file("recording.utrace"), files[side][-1])
            drift = spread(bench, files["a"] + files["b"])
            for how, options in HOWS.items():
                wrong = called(bench, files["a"], files["b"], options)
                right = called(bench, files["a"], files["slower"], options)
                false[how] += bool(wrong)
                true[how] += right.get("step_two") == "worse"
                note("  %d, speed differs by %.0f %%, %s: equal %s, slower %s"
                     % (repetition + 1, 100 * drift, how, wrong, right))
    for how in HOWS:
        table.row("equal programs, called different: " + how, str(false[how]),
                  "<= %d" % (repetitions // 20), false[how] <= repetitions // 20, repetitions)
    for how in HOWS:
        needed = 0.8 * repetitions if how != "durations" else 0
        table.row("a step of 1.10 x found: " + how, str(true[how]),
                  ">= %g" % needed if needed else "-", true[how] >= needed, repetitions)


ALL = {"compare": compare}

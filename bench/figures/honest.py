"""The figures of honest time, one function a row: what a thread, a function, the kernel and a sleep
get must be what the clocks say. Each function measures, and adds rows to the table."""
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import time

from harness import Bench, Failed, note, run, sysctl, told, told_all

HZ = {"1k": 1_000, "10k": 10_000}
UNSEEN = "[kernel, caller unseen]"
PERF_SOURCES = ("sigtrap", "perf")  # by perf events, which the kernel throttles


def sources_note(bench, seen):
    wanted = bench.source or "auto"
    if wanted not in ("auto", seen.stats["source"]):
        raise Failed("asked for the source %s, sampled with %s" % (wanted, seen.stats["source"]))
    note("  source %s, %d samples, %d lost" % (seen.stats["source"], seen.stats["samples"],
                                             seen.stats["lost"]))


def two_threads(bench, table):
    """Two equal threads at 1 kHz: each one's sum against its own clock."""
    done, seen = bench.record([bench.target("threads"), "2", str(bench.seconds(10))], "1k")
    sources_note(bench, seen)
    for number, cpu_ns in enumerate(told_all(done, "worker_cpu_ns"), 1):
        error = 1000 * seen.thread_us("worker-%d" % number) / cpu_ns - 1
        table.row(bench.named("thread %d of 2 against its own clock, 1 kHz" % number),
                  "%+.2f %%" % (100 * error), "within 1 %", abs(error) <= 0.01, 1)


def ten_functions(bench, table):
    """Ten equal functions."""
    done, seen = bench.record([bench.target("ten_functions"), str(bench.seconds(20))])
    sources_note(bench, seen)
    truth = [told(done, "tsc_%d" % number) for number in range(10)]
    whole = seen.thread_us("ten_functions")
    found = [100 * seen.total_us("equal_%d" % number) / whole for number in range(10)]
    note("  found " + " ".join("%.2f" % share for share in found))
    note("  by the time stamp counter " + " ".join("%.2f" % (100 * one / sum(truth)) for one in truth))
    worst = max(abs(share - 10) for share in found)
    table.row(bench.named("ten equal functions: the worst"), "%.2f points off" % worst,
              "within 0.7", worst <= 0.7, 1)


PARTS = ("fifty", "thirty", "twenty")


def shares_in_step(done, seen):
    """Of tests/targets/lockstep, {thread: [(found, worked) of each part, in per cent]}."""
    shares = {}
    for thread in ("main", "later"):
        found = [seen.below_us(thread, name) for name in PARTS]
        worked = [told(done, "%s_%s_ns" % (thread, name)) for name in PARTS]
        shares[thread] = [(100 * one / sum(found), 100 * truth / sum(worked))
                          for one, truth in zip(found, worked)]
    return shares


TURNS_US = (25, 50, 99, 100, 101, 200, 333, 1000, 2000, 10000)


def lockstep(bench, table):
    """Loops of fixed periods by the clock, in a first and in a later thread: 50/30/20 of them, or what
    is left of that where something else runs."""
    for frequency, hz in HZ.items():
        deviations, rates = [], []
        for turn_us in TURNS_US:
            done, seen = bench.record([bench.target("lockstep"), str(bench.seconds(5)),
                                       str(turn_us)], frequency)
            sources_note(bench, seen)
            rates.append(seen.stats["achieved_hz"] / hz)
            for thread, shares in shares_in_step(done, seen).items():
                note("  %d us at %sHz, thread %s: %s" %
                     (turn_us, frequency, thread, " ".join("%.2f (%.2f)" % one for one in shares)))
                deviations += [abs(one - truth) for one, truth in shares]
        off = max(deviations)
        table.row(bench.named("lockstep at %sHz: the worst share" % frequency),
                  "%.2f points off" % off, "within 1.5", off <= 1.5, len(rates))
        if seen.stats["source"] in PERF_SOURCES:
            table.row(bench.named("  and samples of those asked for"),
                      "%.2f to %.2f %%" % (100 * min(rates), 100 * max(rates)), "within 1 %",
                      0.99 <= min(rates) and max(rates) <= 1.01, len(rates))


def lockstep_default(bench, table):
    """Two halves of a loop of a fixed period, at the default frequency; and what diff says of two such runs."""
    runs = bench.count(10, 2)
    deviations, differences = [], 0
    for turn_us in (500, 1000, 2000, 5000):
        before = None
        for number in range(runs):
            done, seen = bench.record([bench.target("lockstep"), str(bench.seconds(4)), str(turn_us)], "1k")
            halves = [parts[0] for parts in shares_in_step(done, seen).values()]
            note("  %d us: first half %s" % (turn_us, " ".join("%.2f (%.2f)" % one for one in halves)))
            deviations += [abs(one - truth) for one, truth in halves]
            kept = bench.file("turns%d.utrace" % (number % 2))
            os.replace(seen.path, kept)
            if before:
                said = json.loads(bench.sample("diff", "--json", before, "--", kept))
                called = ["%s by %.1f ms" % (one["name"], one["self"]["delta"] / 1000) for one in said["functions"]
                          if one["self"]["verdict"] in ("worse", "better")]
                if called:
                    note("  called different: " + ", ".join(called))
                differences += bool(called)
            before = kept
    off = max(deviations)
    table.row(bench.named("two halves in step, at the default: the worst"), "%.2f points off" % off,
              "within 2", off <= 2, 4 * runs)
    table.row(bench.named("  pairs of runs called different"), str(differences), "0",
              differences == 0, 4 * (runs - 1))


def turns(bench, table):
    """Loops that work for a part of each turn and sleep for the rest, at the default frequency."""
    runs = bench.count(5, 1)
    for turn_us, work_us in ((1000, 900), (4000, 2000), (10000, 2000), (16667, 4000)):
        off, rates = [], []
        for _ in range(runs):
            done, seen = bench.record([bench.target("lockstep"), str(bench.seconds(4)), str(turn_us), str(work_us)],
                                      "1k")
            sources_note(bench, seen)
            off += [parts[0][0] - parts[0][1] for parts in shares_in_step(done, seen).values()]
            rates.append(seen.stats["samples"] / told(done, "process_cpu_us") * 1e6)
        mean = statistics.mean(off)
        note("  %s" % " ".join("%+.1f" % one for one in off))
        table.row(bench.named("%g ms of work in %g: first half" % (work_us / 1000, turn_us / 1000)),
                  "%+.2f points off on average, at %.0f Hz" % (mean, statistics.median(rates)), "within 1.5",
                  abs(mean) <= 1.5, 2 * runs)


def in_reads_us(seen):
    """Of tests/targets/reads: below read_zeros(), or in the kernel where its caller is not seen."""
    return seen.total_us("read_zeros") + seen.self_us(UNSEEN)


def kernel_unseen(bench, table):
    """An ordinary user at perf_event_paranoid 2: events do not see the kernel."""
    for read_us in ("200", "20"):
        with sysctl("kernel.perf_event_paranoid", 2):
            done, seen = bench.record([bench.target("reads"), read_us, "70", str(bench.seconds(10))],
                                      as_user=True)
        sources_note(bench, seen)
        what = "kernel unseen, reads of %s us: " % read_us
        cpu_us = told(done, "process_cpu_us")
        error = (seen.roots_us() + seen.stats["agent_cpu_us"]) / cpu_us - 1
        table.row(bench.named(what + "sum against getrusage"), "%+.2f %%" % (100 * error),
                  "within 2 %", abs(error) <= 0.02, 1)
        unseen = 100 * seen.self_us(UNSEEN) / cpu_us
        table.row(bench.named(what + "without a caller"), "%.2f %%" % unseen, "<= 10 %", unseen <= 10, 1)
        read_ns, work_ns = told(done, "read_cpu_ns"), told(done, "work_cpu_ns")
        truth = 100 * read_ns / (read_ns + work_ns)
        reads_us, work_us = in_reads_us(seen), seen.total_us("plain_work")
        found = 100 * reads_us / (reads_us + work_us)
        table.row(bench.named(what + "their share"), "%.2f %%" % found, "%.2f +- 2 %%" % truth,
                  abs(found - truth) <= 2, 1)


def coalesced_reads(bench, table):
    """Reads of two periods each: several expiries inside one of them are one signal."""
    done, seen = bench.record([bench.target("reads"), "200", "60", str(bench.seconds(10))])
    sources_note(bench, seen)
    read_ns, work_ns = told(done, "read_cpu_ns"), told(done, "work_cpu_ns")
    truth = 100 * read_ns / (read_ns + work_ns)
    found_us, work_us = in_reads_us(seen), seen.total_us("plain_work")
    found = 100 * found_us / (found_us + work_us)
    note("  a buffer took %.0f us; %d buffers, read by %d reads more" %
         (read_ns / told(done, "buffers") / 1000, told(done, "buffers"), told(done, "short_reads")))
    note("  of it %s %.2f %%" % (UNSEEN, 100 * seen.self_us(UNSEEN) / (found_us + work_us)))
    table.row(bench.named("reads of 200 us: their share"), "%.2f %%" % found,
              "%.2f +- 2 %%" % truth, abs(found - truth) <= 2, 1)


def short_threads(bench, table):
    """Threads that live a third of a period."""
    count = bench.count(10_000, 1_000)
    done, seen = bench.record([bench.target("short_threads"), str(count), "300"], "1k")
    sources_note(bench, seen)
    found_us = sum(one["cpu_us"] for one in seen.threads
                   if one["tid"] != one["pid"])
    error = 1000 * found_us / told(done, "threads_cpu_ns") - 1
    note("  %d threads in the recording" % (seen.stats["threads"]))
    table.row(bench.named("%d threads of 0.3 ms, 1 kHz: their total" % count),
              "%+.2f %%" % (100 * error), "within 3 %", abs(error) <= 0.03, 1)
    error = seen.roots_us() / told(done, "process_cpu_us") - 1
    table.row(bench.named("  and the sum against getrusage"), "%+.2f %%" % (100 * error),
              "within 1 %", abs(error) <= 0.01, 1)


def wall(bench, table):
    """A thread that sleeps 70 % of the time, by the wall clock."""
    for work_ms, sleep_ms in (("3", "7"), ("30", "70")):
        done, seen = bench.record([bench.target("sleepy"), work_ms, sleep_ms,
                                   str(bench.seconds(10))], "1k", ["--clock", "wall"])
        sources_note(bench, seen)
        truths = {what: told(done, what + "_ns") for what in ("idle", "busy", "delayed")}
        for what, function, key in (("sleeps", "idle_part", "idle"), ("works", "busy_part", "busy"),
                                    ("has no processor", "[waiting for a processor]", "delayed")):
            truth = 100 * truths[key] / sum(truths.values())
            found = 100_000 * seen.below_us("worker", function) / sum(truths.values())
            table.row(bench.named("wall clock, %s/%s ms: %s" % (sleep_ms, work_ms, what)),
                      "%.2f %%" % found, "%.2f +- 1 %%" % truth, abs(found - truth) <= 1, 1)


def lost(bench, table):
    """Eight threads on all cores for a minute at 10 kHz."""
    each = bench.seconds(60) * os.cpu_count() / 8
    done, seen = bench.record([bench.target("threads"), "8", str(each)])
    sources_note(bench, seen)
    error = seen.roots_us() / told(done, "process_cpu_us") - 1
    delivered = seen.stats["samples"] / (told(done, "process_cpu_us") / 1e6 * HZ["10k"])
    note("  delivered %.2f %%, %.1f s of wall time" % (100 * delivered, seen.stats["wall_us"] / 1e6))
    worst = max(abs(1000 * seen.thread_us("worker-%d" % number) / cpu_ns - 1)
                for number, cpu_ns in enumerate(told_all(done, "worker_cpu_ns"), 1))
    table.row(bench.named("8 threads, 60 s, 10 kHz: samples lost"), str(seen.stats["lost"]),
              "0 or carried", seen.stats["lost"] == 0 or worst <= 0.01, 1)
    table.row(bench.named("  the sum against getrusage"), "%+.2f %%" % (100 * error), "within 1 %",
              abs(error) <= 0.01, 1)
    table.row(bench.named("  the worst thread against its own clock"), "%.2f %% off" % (100 * worst),
              "within 1 %", worst <= 0.01, 1)


EINTR_KINDS = ("epoll_wait", "poll", "nanosleep", "recv", "sem_timedwait")


def eintr(bench, table):
    """Blocking calls that a signal would end."""
    calls = bench.count(300, 60)
    clocks = [("cpu", ())]
    if bench.knows("--clock", "wall"):
        clocks.append(("wall", ("--clock", "wall")))
    for clock, options in clocks:
        done, seen = bench.record([bench.target("eintr"), str(calls)], options=options)
        sources_note(bench, seen)
        counts = {kind: told(done, "eintr_" + kind) for kind in EINTR_KINDS}
        total = sum(counts.values())
        note("  of %d calls each: %s" % (calls, counts))
        source = seen.stats["source"]
        allowed = total if source == "timer" else 0
        required = "printed" if source == "timer" else "0"
        table.row(bench.named("EINTR in %d blocking calls, %s clock" %
                              (calls * len(EINTR_KINDS), clock)), str(total), required,
                  total <= allowed, 1)


def fork(bench, table):
    """fork() of a process with much memory: bare and sampled, interleaved."""
    megabytes, forks = str(bench.count(4096, 512)), str(bench.count(5, 3))
    rounds = bench.count(5, 2)
    ratios = {"fork_ns": [], "turn_ns": []}
    for number in range(rounds):
        took = {}
        for variant in ("bare", "sampled") if number % 2 == 0 else ("sampled", "bare"):
            command = [bench.target("big_fork"), megabytes, forks]
            done = run(command) if variant == "bare" else bench.record(command)[0]
            took[variant] = {key: statistics.median(told_all(done, key)) for key in ratios}
        for key, list_of in ratios.items():
            list_of.append(took["sampled"][key] / took["bare"][key])
        note("  fork %.1f and %.1f ms, with the child's end %.1f and %.1f ms" % tuple(
            took[variant][key] / 1e6 for key in ratios for variant in ("bare", "sampled")))
    for key, what in (("fork_ns", "fork()"), ("turn_ns", "fork() until the child is gone")):
        ratio = statistics.median(ratios[key])
        table.row(bench.named("%s of %s MB at 10 kHz / bare" % (what, megabytes)),
                  "%.3f (%.3f-%.3f)" % (ratio, min(ratios[key]), max(ratios[key])), "<= 1.1",
                  ratio <= 1.1, rounds)


def exec_cost(bench, table):
    """One more exec'ed process in a tree. What starting and ending cost cancels: N against none."""
    count = bench.count(1000, 200)
    script = "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done"
    for frequency in ("1k", "10k"):
        cost_ms = []
        for _ in range(bench.count(3, 1)):
            took = {}
            for many in (0, count):
                command = ["/bin/sh", "-c", script % many]
                for variant in ("bare", "sampled"):
                    start = time.monotonic()
                    if variant == "bare":
                        run(command)
                    else:
                        bench.record(command, frequency, report=False)
                    took[variant, many] = time.monotonic() - start
            added = (took["sampled", count] - took["sampled", 0]) - (took["bare", count] -
                                                                    took["bare", 0])
            cost_ms.append(1000 * added / count)
            note("  /bin/true: bare %.2f ms each, sampled %.2f ms" %
                 tuple(1000 * (took[one, count] - took[one, 0]) / count
                       for one in ("bare", "sampled")))
        cost = statistics.median(cost_ms)
        table.row(bench.named("%d x /bin/true at %sHz: added to each" % (count, frequency)),
                  "%.2f ms (%.2f-%.2f)" % (cost, min(cost_ms), max(cost_ms)), "<= 1 ms", cost <= 1,
                  len(cost_ms))


def throttling(bench, table):
    """The kernel takes at most so many samples of an event."""
    for name, value in (("perf_event_max_sample_rate", 2000), ("perf_cpu_time_max_percent", 1)):
        with sysctl("kernel." + name, value):
            done, seen = bench.record([bench.target("three_leaves"), str(bench.seconds(10))])
        sources_note(bench, seen)
        what = "%s %d: " % (name, value)
        error = seen.roots_us() / told(done, "process_cpu_us") - 1
        table.row(bench.named(what + "sum"), "%+.2f %%" % (100 * error), "within 1 %",
                  abs(error) <= 0.01, 1)
        achieved = seen.stats["achieved_hz"] / HZ["10k"]
        said = all("throttled" in bench.sample("report", "--view", view, seen.path)
                   for view in ("summary", "stats"))
        throttled = achieved < 0.99 and seen.stats["source"] in PERF_SOURCES
        table.row(bench.named(what + "samples"),
                  "%.1f %%, %s" % (100 * achieved, "said" if said else "not said"),
                  "said" if throttled else "not said", said == throttled, 1)


def asleep(bench, table):
    """What it costs to carry an agent that sleeps: programs bare, with it, and bare once more take turns on one
    processor every few milliseconds, so that whatever the machine does meanwhile is done to all of them. Those
    that differ in nothing tell what else the figure holds."""
    command = [bench.target("three_leaves"), str(bench.seconds(1.5))]
    carrying = {"LD_PRELOAD": bench.agent_path, "SAMPLE_START": "off", "SAMPLE_FORCE": "1",
                "SAMPLE_OUTPUT": bench.file("asleep.utrace"),
                **({"SAMPLE_SOURCE": bench.source} if bench.source else {})}
    processor = {min(os.sched_getaffinity(0))}
    order = ["bare", "asleep", "bare again"]
    ratios = {"asleep": [], "bare again": []}
    rounds = bench.count(60, 6)
    for number in range(rounds):
        begun = {variant: subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, **(carrying if variant == "asleep" else {})},
            preexec_fn=lambda: os.sched_setaffinity(0, processor))
            for variant in order[number % 3:] + order[:number % 3]}
        done = {variant: subprocess.CompletedProcess(command, 0, process.communicate()[0])
                for variant, process in begun.items()}
        unit_ns = {variant: told(each, "work_cpu_ns") / told(each, "leaf_fifty_units")
                   for variant, each in done.items()}
        for variant, list_of in ratios.items():
            list_of.append(unit_ns[variant] / unit_ns["bare"])
    for variant, list_of in ratios.items():
        list_of.sort()
        away = math.ceil(0.98 * math.sqrt(rounds))  # 95 % of all such medians
        low, high = list_of[rounds // 2 - away], list_of[min(rounds // 2 + away, rounds - 1)]
        figure = "%.4f (%.4f to %.4f)" % (statistics.median(list_of), low, high)
        if variant == "asleep":
            table.row(bench.named("an agent that sleeps / bare"), figure, "<= 1.002", high <= 1.002, rounds)
        else:
            note("  bare / bare, by turns like these: " + figure)


def sleepers(bench, table):
    """Processes that sleep, and more of them than processors: what is spent on them."""
    def spent_s(action):
        """CPU time of everything that it started."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        action()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seconds = "%g" % max(1, bench.seconds(4))
    _, seen = bench.record(["sleep", seconds])
    sources_note(bench, seen)
    share = seen.stats["agent_cpu_us"] / seen.stats["wall_us"]
    table.row(bench.named("one process that sleeps, 10 kHz: of a core"), "%.3f %%" % (100 * share),
              "<= 1 %", share <= 0.01, 1)
    sleeping = ["sh", "-c", "for i in $(seq 100); do sleep %s & done; wait" % seconds]
    ours = spent_s(lambda: bench.record(sleeping, "1k", report=False))
    sigtrap = Bench(bench.build, bench.sample_path, bench.agent_path, bench.quick, "sigtrap")
    theirs = spent_s(lambda: sigtrap.record(sleeping, "1k", report=False))
    table.row(bench.named("100 processes that sleep %s s: CPU above sigtrap's" % seconds),
              "%.2f s" % (ours - theirs), "<= 0.3 s", ours - theirs <= 0.3, 1)
    if not shutil.which("hackbench"):
        raise Failed("install rt-tests for hackbench")
    rounds = bench.count(7, 1)
    took = {"bare": [], "sampled": []}
    for _ in range(rounds):
        for variant, list_of in took.items():
            command = ["hackbench", "-g", "5"]
            done = run(command) if variant == "bare" else bench.record(command, "1k")[0]
            list_of.append(float(re.search(rb"^Time: ([0-9.]+)", done.stdout, re.M).group(1)))
    ratio = statistics.median(took["sampled"]) / statistics.median(took["bare"])
    table.row(bench.named("hackbench -g 5 at 1 kHz / bare"), "%.2f" % ratio, "<= 1.3", ratio <= 1.3,
              rounds)


def price(bench, table):
    """What a sample costs as it is told, beside what the program's own clock says, at emulated prices; and
    durations net of it beside those of the same work without samples. The program works by turns sampled
    and not, as the machine's speed changes from second to second."""
    runs, enough = bench.count(5, 3), bench.count(60, 20)
    source = ["--source", bench.source] if bench.source else []
    path = bench.file("price.utrace")
    for dear_us in (0, 5, 15, 40, 80):
        told_ns, took_ns = [], []
        for frequency in (1000, 5000, 10000):
            if frequency == 10000 and dear_us > 15:
                continue  # a sample takes half of its period, or more
            nets = []
            pairs = enough if frequency > 1000 else 4 * enough  # few samples tell little of a leaf
            for _ in range(runs):
                done = run([os.path.join(bench.build, "tests", "tools", "confine"), "--dear-handlers", str(dear_us),
                            bench.sample_path, "--quiet", "--force", "--freq", str(frequency), *source, "-o", path,
                            "--", bench.target("priced"), str(frequency), str(pairs)])
                stats = json.loads(bench.sample("report", "--net", "--view", "stats", "--json", path))
                if stats["sample_cost_ns"] is None:
                    raise Failed("no price was told")
                told_ns.append(stats["sample_cost_ns"])
                if frequency == 5000:
                    took_ns.append(told(done, "more_ns") * pairs / stats["samples"])
                nets.append(net_of(bench, path, told(done, "bare_us")))
            whole, *leaves = (statistics.median(each) for each in zip(*nets))
            worst = max(leaves, key=abs)
            table.row(bench.named("--net beside bare, handlers of %d us more, %d Hz" % (dear_us, frequency)),
                      "%+.1f %%, a leaf %+.1f points" % (100 * whole, 100 * worst), "within 3 %",
                      max(abs(whole), abs(worst)) <= 0.03, runs)
        seen_ns, real_ns = statistics.median(told_ns), statistics.median(took_ns)
        table.row(bench.named("  the price that is told, of %.1f us" % (real_ns / 1000)),
                  "%.1f us, %+.0f %%" % (seen_ns / 1000, 100 * (seen_ns / real_ns - 1)), "within 20 %",
                  abs(seen_ns / real_ns - 1) <= 0.2, runs)


def net_of(bench, path, bare_us):
    """How far durations by --net are from `bare_us`, as parts of it: of all the work, and of its 50, 30 and
    20 per cent."""
    functions = json.loads(bench.sample("report", "--net", "--view", "functions", "--min", "0", "--json",
                                        path))["functions"]
    found = [sum(one["total_us"] for one in functions if leaf in (one["name"] or ""))
             for leaf in ("priced_fifty", "priced_thirty", "priced_twenty")]
    return [sum(found) / bare_us - 1] + [us / bare_us - share for us, share in zip(found, (0.5, 0.3, 0.2))]


ALL = {"two-threads": two_threads, "ten-functions": ten_functions, "lockstep": lockstep,
       "lockstep-default": lockstep_default, "turns": turns,
       "kernel-unseen": kernel_unseen, "coalesced-reads": coalesced_reads,
       "short-threads": short_threads, "wall": wall, "lost": lost, "eintr": eintr, "fork": fork,
       "exec-cost": exec_cost, "asleep": asleep, "sleepers": sleepers, "throttling": throttling, "price": price}

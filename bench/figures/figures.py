"""The figures of the main job, one function each: measures, and adds rows to the table."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import workloads
from harness import ROOT, Failed, Recording, note, run, told, told_all

HZ = 10_000
MEGABYTE = 1_000_000


def delivered(bench, table):
    """Samples delivered to a CPU-bound program, of those its CPU time holds."""
    for name in ("deep", "three_leaves"):
        done, seen = bench.record([bench.target(name), str(bench.seconds(10))])
        share = seen.stats["samples"] / (told(done, "process_cpu_us") / 1e6 * HZ)
        table.row("delivered: " + name, "%.2f %%" % (100 * share), ">= 99 %", share >= 0.99, 1)


NGINX = """daemon off; worker_processes 1; pid {0}/pid; error_log {0}/errors;
events {{ worker_connections 512; }}
http {{ access_log off; server {{ listen 127.0.0.1:18089; location / {{ return 200 "{1}"; }} }} }}
"""


def share_of_kernel(bench, command, meanwhile=lambda process: None):
    """The sum of the roots, of what wait4 tells of the program and its children. So the program is a
    child of ours, and sample its agent's. `meanwhile` has the process until it should end."""
    out = bench.file("sums.utrace")
    env = {**os.environ, "LD_PRELOAD": bench.agent_path, "SAMPLE_FREQ": "10k", "SAMPLE_OUTPUT": out,
           "SAMPLE_FORCE": "1", **({"SAMPLE_SOURCE": bench.source} if bench.source else {})}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        meanwhile(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Recording(bench, out).roots_us() / 1e6 / (usage.ru_utime + usage.ru_stime)


def nginx_share(bench):
    """share_of_kernel() of nginx under load."""
    if not (shutil.which("nginx") and shutil.which("wrk")):
        raise Failed("install nginx and wrk")
    folder = tempfile.mkdtemp(dir=bench.folder)
    config, pid = os.path.join(folder, "conf"), os.path.join(folder, "pid")
    with open(config, "w", encoding="utf-8") as file:
        file.write(NGINX.format(folder, 4000 * "x"))

    def load(process):
        while process.poll() is None and not os.path.exists(pid):
            time.sleep(0.05)
        run(["wrk", "-t1", "-c16", "-d%d" % max(2, bench.seconds(10)), "http://127.0.0.1:18089/"])
        process.send_signal(signal.SIGQUIT)

    return share_of_kernel(bench, ["nginx", "-e", os.path.join(folder, "errors"), "-c", config], load)


def sums(bench, table):
    """The sum over the roots, of the CPU time that the kernel counts: in each of several runs."""
    runs = bench.runs or bench.count(5, 2)

    def row(name, share):
        try:
            found = sorted(100 * share() for _ in range(runs))
        except Failed as failure:
            table.failed("sum of roots: " + name, failure)
            return
        table.row("sum of roots, of the kernel's CPU time: " + name,
                  "%.3f to %.3f %%" % (found[0], found[-1]), "99.5 to 100 %",
                  found[0] >= 99.5 and found[-1] <= 100, runs)

    jobs = [("deep", ["deep"]), ("threads", ["threads", "4"])]
    jobs += [("syscalls " + mode, ["syscalls", mode]) for mode in ("read", "tiny", "mixed")]
    for name, words in jobs:
        seconds = bench.seconds(10) / (4 if name == "threads" else 1)
        command = [bench.target(words[0]), *words[1:], str(seconds)]
        row(name, lambda command=command: share_of_kernel(bench, command))
    for name in ("python3", "xz", "cc1plus", "git"):
        row(name, lambda name=name: share_of_kernel(bench, workloads.ALL[name](bench)))
    row("nginx under load", lambda: nginx_share(bench))


def shares(bench, table):
    """50/30/20."""
    runs = bench.count(3, 1)
    worst = 0.0
    for _ in range(runs):
        _, seen = bench.record([bench.target("three_leaves"), str(bench.seconds(10))])
        found = [100 * seen.total_us(name) / seen.roots_us()
                 for name in ("leaf_fifty", "leaf_thirty", "leaf_twenty")]
        note("  shares %.2f %.2f %.2f" % tuple(found))
        worst = max([worst] + [abs(one - truth) for one, truth in zip(found, (50, 30, 20))])
    table.row("50/30/20: the worst leaf", "%.2f points off" % worst, "within 1", worst <= 1, runs)


def stacks(bench, table):
    """Complete stacks in real programs."""
    for name, workload in workloads.ALL.items():
        what = "complete stacks: " + name
        try:
            _, seen = bench.record(workload(bench))
        except Failed as failure:
            table.failed(what, failure)
            continue
        samples = seen.stats["samples"]
        broken = seen.stats["incomplete_stacks"]
        cut = seen.stats["truncated_stacks"]
        share = 1 - (broken + cut) / samples if samples else 0.0
        note("  %s: %d samples, %d incomplete, %d truncated" % (name, samples, broken, cut))
        table.row(what, "%.3f %%" % (100 * share), ">= 99.5 %", share >= 0.995, 1)


def overhead(bench, table):
    """Own wall time at 10 kHz against an empty handler on the same source."""
    rounds = bench.count(7, 3)
    words = [os.path.join(ROOT, "bench", "overhead", "run"), "--json", "--build", bench.build,
             "--sample", bench.sample_path, "--only", "bare,empty,sample-10k", "--rounds",
             str(rounds), "--seconds", str(bench.seconds(5)), "deep", "three_leaves"]
    done = run([sys.executable, *words])
    for program, result in json.loads(done.stdout).items():
        try:
            ratio = result["variants"]["sample-10k"]["own_vs_empty"]
        except KeyError:
            table.failed("overhead: " + program, "build empty_handler and sample first")
            continue
        table.row("own wall time at 10 kHz / empty handler: " + program,
                  "%.3f (%.3f-%.3f)" % (ratio["median"], ratio["min"], ratio["max"]), "<= 1.08",
                  ratio["median"] <= 1.08, rounds)


def size(bench, table):
    """Bytes of the recording per million samples."""
    for name, limit in (("three_leaves", 6), ("cc1plus", 12)):
        what = "megabytes per million samples: " + name
        try:
            _, seen = bench.record(workloads.ALL[name](bench))
        except Failed as failure:
            table.failed(what, failure)
            continue
        figure = seen.bytes / max(1, seen.stats["samples"])
        table.row(what, "%.2f MB" % figure, "<= %d MB" % limit, figure <= limit, 1)


def strace_counts(bench, command, env):
    """system call -> count, of the process itself (without -f: not of the collector it starts)."""
    out = bench.file("strace")
    given = [word for name, value in env.items() for word in ("-E", "%s=%s" % (name, value))]
    run(["strace", "-c", "-U", "calls,name", "-o", out, *given, *command])
    counts = {}
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            found = re.match(r"\s*(\d+)\s+(\w+)\s*$", line)
            if found and found.group(2) != "total":
                counts[found.group(2)] = int(found.group(1))
    return counts


def syscalls(bench, table):
    """System calls that sampling adds while samples are regular.

    The difference between a long and a short run of the same program, so that starting and ending
    cancel. At 1 kHz: each stop under strace is itself a gap, which must stay below half a
    period. rt_sigreturn, how every handler ends, is left out; clock_gettime, the one read after a
    gap, has a row of its own: near 0 on an idle machine, one a sample at most on a busy one. By
    source perf, as sigtrap gives way to a tracer.
    """
    env = {"LD_PRELOAD": bench.agent_path, "SAMPLE_FREQ": "1k", "SAMPLE_SOURCE": "perf",
           "SAMPLE_FORCE": "1", "SAMPLE_OUTPUT": bench.file("strace.utrace")}
    probe = run([bench.target("deep"), "1"])
    per_second = told(probe, "rounds")
    added = {}
    for factor, seconds in ((-1, 1), (1, 4)):
        command = [bench.target("deep"), "--rounds", str(per_second * seconds)]
        if os.path.exists(env["SAMPLE_OUTPUT"]):
            os.remove(env["SAMPLE_OUTPUT"])
        for sign, extra in ((1, env), (-1, {})):
            for name, calls in strace_counts(bench, command, extra).items():
                added[name] = added.get(name, 0) + factor * sign * calls
    samples = added.pop("rt_sigreturn", 0)
    clock = added.pop("clock_gettime", 0)
    others = {name: calls for name, calls in added.items() if calls != 0}
    if samples <= 0:
        raise Failed("no handler ran under strace")
    table.row("system calls added while samples are regular (%d)" % samples,
              str(sum(others.values())) + (" " + str(others) if others else ""), "0",
              not others, 2)
    table.row("clock reads after a gap, per 100 samples", "%.1f" % (100 * clock / samples), "<= 20",
              5 * clock <= samples, 2)


def execs(bench, table):
    """Many execs at 10 kHz: no death, no hang, sampling afterwards."""
    count = bench.count(10_000, 300)
    for mode in ("execve", "shell", "fexecve"):
        done, _ = bench.record([bench.target("self_exec"), mode, str(count)], check=False)
        good = done.returncode == 0 and told(done, "execs") == count
        table.row("%d execs at 10 kHz: %s" % (count, mode),
                  "survived" if good else "ended with %d" % done.returncode, "0 deaths", good, 1)
    done, seen = bench.record([bench.target("failing_exec"), str(count), str(bench.seconds(5))])
    after = [one["total_us"] for one in seen.functions if "after_failure" in (one["name"] or "")]
    share = sum(after) / (bench.seconds(5) * 1e6)
    table.row("%d failing execs, then work: seen of that work" % count, "%.1f %%" % (100 * share),
              ">= 99 %", share >= 0.99 and told(done, "failures") == count, 1)


def kib_of(pid, field):
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as status:
            found = re.search(r"^%s:\s+(\d+) kB" % field, status.read(), re.M)
    except FileNotFoundError:
        return 0
    return int(found.group(1)) if found else 0


def highest_kib(command, env):
    """Resident memory and address space, but for malloc's arenas, whose number is chance."""
    env = {**os.environ, "MALLOC_ARENA_MAX": "1", **env}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env) as program:
        resident = size = 0
        while program.poll() is None:
            resident = max(resident, kib_of(program.pid, "VmRSS"))
            size = max(size, kib_of(program.pid, "VmSize"))
            time.sleep(0.02)
    return resident, size


def memory(bench, table):
    """Memory and addresses added to a target of four threads."""
    runs = bench.count(5, 2)
    command = [bench.target("threads"), "4", str(bench.seconds(2))]
    output = bench.file("memory.utrace")
    env = {"LD_PRELOAD": bench.agent_path, "SAMPLE_FREQ": "10k", "SAMPLE_OUTPUT": output,
           **({"SAMPLE_SOURCE": bench.source} if bench.source else {})}
    added = []
    for _ in range(runs):
        profiled, bare = highest_kib(command, env), highest_kib(command, {})
        added.append([(one - other) / 1024 for one, other in zip(profiled, bare)])
        if not os.path.exists(output):
            raise Failed("the agent made no recording")
        os.remove(output)
    resident, size = (statistics.median(column) for column in zip(*added))
    table.row("memory added to the target (RSS), 4 threads", "%.2f MiB" % resident, "<= 1.5 MiB",
              resident <= 1.5, runs)
    table.row("addresses added to the target, 4 threads", "%.1f MiB" % size, "<= 64 MiB",
              size <= 64, runs)


def threads_at_once(bench, table):
    """Thousands of threads that exist together, and as many stacks that one thread switches between."""
    count = bench.count(10_000, 1_000)
    command = [bench.target("many_threads"), str(count), str(count), "2000"]
    done, seen = bench.record(command)
    recorded = {one["tid"]: one["cpu_us"] for one in seen.threads if one["tid"] != one["pid"]}
    off = [recorded.get(tid, 0) - cpu_ns / 1000
           for tid, cpu_ns in zip(told_all(done, "tid"), told_all(done, "cpu_ns"))]
    what = "%d threads at once: " % count
    table.row(what + "the worst beside its clock's 2 ms", "%+.3f, %+.3f ms" % (min(off) / 1000, max(off) / 1000),
              ">= -0.1 ms", min(off) >= -100, 1)
    whole = sum(one["cpu_us"] for one in seen.threads)
    main = sum(one["cpu_us"] for one in seen.threads if one["tid"] == one["pid"])
    share, own = (100 * part / whole for part in (main, told(done, "main_cpu_ns") / 1000))
    table.row(what + "the main thread's share", "%.2f %%, own %.2f %%" % (share, own),
              "<= 3 points more", share - own <= 3, 1)
    env = {"LD_PRELOAD": bench.agent_path, "SAMPLE_FREQ": "10k", "SAMPLE_OUTPUT": bench.file("many.utrace"),
           **({"SAMPLE_SOURCE": bench.source} if bench.source else {})}
    resident, size = ((one - other) / count for one, other in
                      zip(highest_kib(command, env), highest_kib(command, {})))
    table.row(what + "memory added, a thread", "%.1f of %.0f KiB" % (resident, size), "<= 64 KiB",
              resident <= 64, 1)
    _, seen = bench.record([bench.target("contexts"), "ucontext", str(bench.seconds(10)), str(count)])
    whole = 1 - (seen.stats["incomplete_stacks"] + seen.stats["truncated_stacks"]) / seen.stats["samples"]
    table.row("%d contexts: complete stacks" % count, "%.3f %%" % (100 * whole), ">= 99 %",
              whole >= 0.99, 1)


def stopped(bench, table):
    """A hundred forks while the collector is stopped."""
    runs = bench.count(5, 2)
    command = [bench.target("stops_collector"), "fork", "100"]
    added = []
    for _ in range(runs):
        done, _ = bench.record(command, report=False)
        bare = run(["sh", "-c", '"$@"; exit $?', "sh", *command])  # it stops the shell instead
        added.append(told(done, "stopped_ms") - told(bare, "stopped_ms"))
    table.row("100 forks while the collector is stopped, added", "%.0f ms" % statistics.median(added),
              "<= 100 ms", statistics.median(added) <= 100, runs)


def summary_time(bench, table):
    """From the program's end to the end of the printed summary."""
    program = bench.target("big_dwarf")
    seconds = bench.seconds(60)
    done, _ = bench.record([program, str(seconds)], quiet=False)
    took = (done.ended_ns - told(done, "end_ns")) / 1e9
    if not done.stderr.strip():
        raise Failed("no summary was printed")
    table.row("exit to summary, %d s at 10 kHz, large DWARF" % seconds, "%.2f s" % took, "<= 2 s",
              took <= 2, 1)


def prompt(bench, table):
    """From the end of `g++ -O2` to the shell's prompt, with the names kept from a run before, and the
    memory that it took. The peak is sampled: of a process with children the kernel tells no own one."""
    source = workloads.cpp_source_of(bench, bench.seconds(6))
    command = ["sh", "-c", 'g++ -std=c++20 -O2 -c -o "$1.o" "$1"; date +%s%N', "sh", source]
    runs = bench.count(5, 1)
    took, peaks = [], []
    for _ in range(runs + 1):
        words = [bench.sample_path, "--force", "--freq", "10k", "-o", bench.file("prompt.utrace"), "--", *command]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            peak = 0
            while process.poll() is None:
                with open("/proc/%d/status" % process.pid, encoding="utf-8") as status:
                    found = re.search(r"VmHWM:\s+(\d+)", status.read())
                peak = max(peak, int(found.group(1)) if found else 0)
                time.sleep(0.01)
            ended = time.time()
            took.append(ended - int(process.stdout.read()) / 1e9)
            peaks.append(peak / 1024)
    del took[0], peaks[0]
    # What it takes goes by them; a sample that is dear makes a program of many.
    samples = int(Recording(bench, bench.file("prompt.utrace")).stats["samples"])
    note("  to the prompt %s s, with %d samples" % (" ".join("%.3f" % one for one in took), samples))
    table.row("exit to prompt, g++ -O2 at 10 kHz", "%.3f s" % statistics.median(took), "<= 0.35 s",
              statistics.median(took) <= 0.35, runs)
    table.row("the same: peak memory", "%.0f MiB" % max(peaks), "<= 150 MB",
              max(peaks) * 1024 * 1024 <= 150 * MEGABYTE, runs)


def survival(bench, table):
    """Targets that are killed."""
    for how, name in (("kill", "SIGKILL"), ("segv", "SIGSEGV"), ("abort", "SIGABRT")):
        done, seen = bench.record([bench.target("killed"), how, str(bench.seconds(5))], check=False)
        share = seen.stats["sampled_us"] * 1000 / told(done, "work_cpu_ns")
        said = name in bench.sample("report", seen.path)
        table.row("killed by %s: kept of what it did" % name,
                  "%.2f %%%s" % (100 * share, "" if said else ", cause unsaid"), ">= 99 %",
                  share >= 0.99 and said, 1)


def churn_caller(function):
    """The only caller that tests/targets/churn.cpp promises for a function, or None."""
    found = re.search(r"(host_call<|plugin_entry_|plugin_middle_|host_back<)(\d)", function)
    if not found:
        return None
    name, copy = found.groups()
    return {"host_call<": "churn(", "plugin_entry_": "host_call<" + copy,
            "plugin_middle_": "plugin_entry_" + copy,
            "host_back<": "plugin_middle_" + copy}[name]


def churn(bench, table):
    """Libraries loaded and unloaded 1000 times on each of four threads."""
    loads = bench.count(1000, 100)
    program = bench.target("churn")
    done, seen = bench.record([program, os.path.dirname(program), str(loads)], check=False)
    good = done.returncode == 0 and told(done, "loads") == 4 * loads
    table.row("4 x %d loads at 10 kHz" % loads,
              "survived" if good else "ended with %d" % done.returncode, "no crash", good, 1)
    wrong = right = cut = 0
    for caller, callee, total_us in seen.edges():
        promised = churn_caller(callee)
        if promised is None:
            continue
        if promised in caller:
            right += total_us
        elif caller.startswith("[stack") or caller == "[unknown]":
            cut += total_us
        else:
            note("  %s below %s, %d us" % (callee, caller, total_us))
            wrong += total_us
    note("  %d us below their caller, %d us cut there, %d us below another" % (right, cut, wrong))
    table.row("churn: time below a wrong caller", "%d us" % wrong, "0", wrong == 0 and right > 0, 1)
    held = [told(done, name + when) for name in ("descriptors_", "anonymous_kib_")
            for when in ("before", "after")]
    table.row("churn: descriptors more after the last load", str(held[1] - held[0]), "0",
              held[1] == held[0], 1)
    table.row("churn: private memory more after the last load", "%d KiB" % (held[3] - held[2]),
              "<= 1024 KiB", held[3] - held[2] <= 1024, 1)


ALL = {"delivered": delivered, "sums": sums, "shares": shares, "stacks": stacks,
       "overhead": overhead, "size": size, "syscalls": syscalls, "execs": execs, "memory": memory,
       "threads-at-once": threads_at_once, "stopped": stopped,
       "churn": churn, "summary": summary_time, "prompt": prompt, "survival": survival}

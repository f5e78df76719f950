"""What sampling costs programs that leave the processor often, or start others, beside perf: one function
a figure."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from harness import NOBODY, Failed, Recording, note, run, sysctl, told, without_privileges
from honest import UNSEEN

FREQUENCIES = ("1k", "10k")
HZ = {"1k": "1000", "10k": "10000"}


def profilers(bench):
    """(name, frequency, words before the command) of each way to run it."""
    yield "bare", None, []
    for frequency in FREQUENCIES:
        source = ["--source", bench.source] if bench.source else []
        yield "sample", frequency, [bench.sample_path, "--quiet", "--force", "--freq", frequency, *source,
                                    "-o", bench.file("recording.utrace"), "--"]
        yield "perf", frequency, ["perf", "record", "-q", "-F", HZ[frequency], "-g", "-o",
                                  bench.file("perf.data"), "--"]


def slowdowns(bench, cost, rounds):
    """{(profiler, frequency): median cost / the median bare one} of runs that take turns. `cost` runs
    what is measured behind the given words and says what it took, whatever the unit."""
    if not shutil.which("perf"):
        raise Failed("install perf (linux-perf)")
    costs = {}
    for _ in range(rounds):
        for name, frequency, words in profilers(bench):
            costs.setdefault((name, frequency), []).append(cost(words))
    bare = statistics.median(costs[("bare", None)])
    return {which: statistics.median(each) / bare for which, each in costs.items()}


def switches(bench, table):
    """Two that hand a byte to and fro."""
    rounds = bench.count(5, 1)
    for mode in ("processes", "threads", "apart"):
        command = [bench.target("switches"), mode, str(bench.seconds(5))]
        found = slowdowns(bench, lambda words, command=command: told(run([*words, *command]), "round_ns"),
                          rounds)
        for frequency in FREQUENCIES:
            ours, theirs = found[("sample", frequency)], found[("perf", frequency)]
            table.row(bench.named("a round trip, %s, %s" % (mode, frequency)),
                      "%.2f x, perf %.2f x" % (ours, theirs), "<= 1.10, or perf",
                      ours <= max(1.10, theirs), rounds)


def bursts(bench, table):
    """Pieces of work between two sleeps, of which few are long, by halves."""
    for one_in, long_us in ((20, 1000), (10, 500), (40, 2000)):
        done, seen = bench.record([bench.target("bursts"), str(bench.seconds(20)), str(one_in), str(long_us)],
                                  frequency="1k")
        halves = [seen.total_us(name) for name in ("first_half", "second_half")]
        spent = [told(done, name + "_ns") for name in ("first", "second")]
        off = 100 * (halves[0] / sum(halves) - spent[0] / sum(spent))
        table.row(bench.named("one burst of %d is of %d us: the first half" % (one_in, long_us)),
                  "%+.2f points off" % off, "within 4", abs(off) <= 4, 1)


def timed(words):
    """Seconds of the wall's clock."""
    start = time.monotonic()
    run(words)
    return time.monotonic() - start


def is_listening(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def served(words, port, load, stop=signal.SIGTERM):
    """What `load` says while the server runs, which listens to `port`."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            for _ in range(200):
                if is_listening(port):
                    break
                time.sleep(0.05)
            else:
                raise Failed("%s does not answer" % words[0])
            return load()
        finally:
            os.killpg(server.pid, stop)
            server.wait()


def found_in(text, pattern):
    """The cost of one, where a program tells how many a second there were."""
    found = re.search(pattern, text)
    if not found:
        raise Failed("no rate in what was printed")
    return 1 / float(found.group(1))


def needs(*commands):
    # Debian keeps PostgreSQL's commands elsewhere.
    os.environ["PATH"] += "".join(":" + folder for folder in glob.glob("/usr/lib/postgresql/*/bin")
                                  if folder not in os.environ["PATH"])
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        raise Failed("install " + ", ".join(missing))


def redis(bench):
    needs("redis-server", "redis-benchmark")
    port, user = "18090", without_privileges()

    def load():
        done = run(["redis-benchmark", "-p", port, "-P", "1", "-t", "get", "-q", "-n",
                    str(int(bench.seconds(500_000)))])
        return found_in(done.stdout.decode(), r"GET: ([0-9.]+) requests per second")

    return lambda words: served([*words, *user, "redis-server", "--port", port, "--save", ""], int(port), load)


NGINX = """daemon off; worker_processes 2; pid {0}/pid; error_log {0}/errors;
events {{ worker_connections 512; }}
http {{ access_log off; server {{ listen 127.0.0.1:18091; location / {{ return 200 "{1}"; }} }} }}
"""


def nginx(bench):
    needs("nginx", "wrk")
    folder = tempfile.mkdtemp(dir=bench.folder)
    config = os.path.join(folder, "conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(NGINX.format(folder, 4000 * "x"))

    def load():
        done = run(["wrk", "-t1", "-c16", "-d%d" % max(1, bench.seconds(5)), "http://127.0.0.1:18091/"])
        return found_in(done.stdout.decode(), r"Requests/sec: +([0-9.]+)")

    command = ["nginx", "-e", os.path.join(folder, "errors"), "-c", config]
    return lambda words: served([*words, *command], 18091, load)


def postgres(bench):
    """Its server refuses to be root's."""
    needs("postgres", "initdb", "pgbench")
    port, data, user = "18092", tempfile.mkdtemp(prefix="figures-postgres-"), without_privileges()
    if user:
        shutil.chown(data, NOBODY, NOBODY)
    run([*user, "initdb", "-D", data, "--auth", "trust", "-U", "bench"])
    server = [*user, "postgres", "-D", data, "-p", port, "-k", data, "-h", "127.0.0.1"]
    to_it = ["-h", "127.0.0.1", "-p", port, "-U", "bench"]
    served(server, int(port), lambda: run(["pgbench", "-i", "-q", *to_it, "postgres"]), signal.SIGINT)

    def load():
        done = run(["pgbench", "-S", "-c", "4", "-T", str(max(1, int(bench.seconds(5)))), "-n", *to_it,
                    "postgres"])
        return found_in(done.stdout.decode(), r"tps = ([0-9.]+)")

    return lambda words: served([*words, *server], int(port), load, signal.SIGINT)


UNIT = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%s
"""
FUNCTION = """int f%d(const char *text, int n) {
    int sum = n;
    for (size_t i = 0; i < strlen(text); ++i) { sum = sum * 31 + text[i] %% (n + 7); if (sum < 0) sum = -sum; }
    switch (sum %% 5) { case 0: return sum + 1; case 1: return puts(text); case 2: return atoi(text); }
    return sum;
}
"""


def make(bench):
    needs("make", "cc")
    folder = tempfile.mkdtemp(dir=bench.folder)
    units = int(bench.count(60, 10))
    for unit in range(units):
        with open(os.path.join(folder, "u%d.c" % unit), "w", encoding="utf-8") as file:
            file.write(UNIT % "".join(FUNCTION % (1000 * unit + number) for number in range(20)))
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write("CFLAGS = -O1\nall: %s\n" % " ".join("u%d.o" % unit for unit in range(units)))
    return lambda words: timed([*words, "make", "-B", "-s", "-j2", "-C", folder, "all"])


def shell(bench):
    loop = "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i + 1)); done" % bench.count(2000, 200)
    return lambda words: timed([*words, "sh", "-c", loop])


def servers(bench, table):
    """Programs that wait for others, and that start others."""
    rounds = bench.count(5, 1)
    for name, prepare in (("pgbench -S -c 4", postgres), ("redis-benchmark -P 1", redis),
                          ("wrk, nginx with two workers", nginx), ("make -j2", make),
                          ("a shell loop of 2,000 commands", shell)):
        try:
            found = slowdowns(bench, prepare(bench), rounds)
        except Failed as failure:
            table.failed(bench.named("slowdown: " + name), failure)
            continue
        for frequency in FREQUENCIES:
            ours, theirs = found[("sample", frequency)], found[("perf", frequency)]
            table.row(bench.named("slowdown: %s, %s" % (name, frequency)),
                      "%.2f x, perf %.2f x" % (ours, theirs), "below perf's", ours < theirs, rounds)


def shares_of(functions):
    """Percent of the time by function, by libc's public names: a sample that `write` takes at its end is not on
    `__GI___libc_write`."""
    whole = sum(one["self_us"] for one in functions)
    shares = {}
    for one in functions:
        name = re.sub(r"^(__GI_)?_*(libc_)?", "", one["name"])
        shares[name] = shares.get(name, 0) + 100 * one["self_us"] / whole
    return shares


def a_servers_own(bench, table):
    """A server that reads its own clock around each part. No other profiler can judge here: an event is stopped at
    switches, and a processor's clock does not see them. A sample in 2 ms of its time: for an error of a point at
    15 %, it takes half a minute."""
    parts = ("wait", "read", "answer")
    for units in (2, 10):
        what = bench.named("callers, ordinary user: a server's own account, %d units: the worst" % units)
        with sysctl("kernel.perf_event_paranoid", 2):
            done, seen = bench.record([bench.target("serves"), str(units), str(bench.seconds(30))], as_user=True)
        own = [told(done, part + "_cpu_ns") for part in parts]
        found = [seen.total_us(part + "_part") for part in parts]
        if not sum(found):
            table.failed(what, Failed("none of the server's parts was found"))
            continue
        shares = [(100 * f / sum(found), 100 * o / sum(own)) for f, o in zip(found, own)]
        note("  asked %d times in %d turns; %s" % (told(done, "asked"), told(done, "turns"), ", ".join(
            "%s %.1f for %.1f %%" % (part, *share) for part, share in zip(parts, shares))))
        off = max((f - o for f, o in shares), key=abs)
        table.row(what, "%+.1f points" % off, "within 2 points", abs(off) <= 2, 1)


def callers(bench, table):
    """An ordinary user's servers: what leads into the kernel, beside what is seen where all may be: by a clock of
    the thread, and by those of the processors, which no switch stops."""
    a_servers_own(bench, table)

    def recorded(job, paranoid):
        path = bench.file("callers%d.utrace" % paranoid)
        with sysctl("kernel.perf_event_paranoid", paranoid):
            job([bench.sample_path, "--quiet", "--force", "--freq", "10k", "-o", path, "--"])
        return shares_of(Recording(bench, path).functions)

    def by_processors(job, program):
        path = bench.file("callers-all.utrace")
        words = [bench.sample_path, "record", "-a", "--quiet", "--force", "--kernel", "off", "--freq", "4k", "-o", path]
        with subprocess.Popen(words) as recorder:
            try:
                job([])
            finally:
                recorder.send_signal(signal.SIGINT)
        text = bench.sample("report", "--view", "functions", "--min", "0", "--json", "--process", program, path)
        return shares_of(json.loads(text)["functions"])

    for name, program, prepare in (("pgbench -S -c 4", "postgres", postgres),
                                   ("redis-benchmark -P 1", "redis-server", redis)):
        what = bench.named("callers, ordinary user: %s: " % name)
        try:
            job = prepare(bench)
            own, full, machine = recorded(job, 2), recorded(job, -1), by_processors(job, program)
        except Failed as failure:
            table.failed(what, failure)
            continue
        unseen = own.get(UNSEEN, 0)
        table.row(what + "without one", "%.2f %%" % unseen, "<= 10 %", unseen <= 10, 1)
        for beside, truth in (("threads' clocks", full), ("processors' clocks", machine)):
            function = max((one for one, share in truth.items() if share >= 2),
                           key=lambda one: abs(truth[one] - own.get(one, 0)))
            off = abs(own.get(function, 0) - truth[function])
            table.row(what + "the worst beside the " + beside,
                      "%s %.1f for %.1f %%" % (function, own.get(function, 0), truth[function]),
                      "within 2 points", off <= 2, 1)


ALL = {"bursts": bursts, "callers": callers, "switches": switches, "servers": servers}

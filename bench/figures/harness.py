"""What the figures share: where things are, running them, and what a recording says."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


NOBODY = 65534  # a user without any privilege, as Debian numbers it


class Failed(Exception):
    """A figure that could not be measured; its text says why."""


class Recording:
    """A recording, by the commands that a user has."""

    def __init__(self, bench, path):
        self.path = path
        self.bytes = os.path.getsize(path)
        self.stats = json.loads(bench.sample("report", "--view", "stats", "--json", path))
        self._bench = bench
        self._functions = None
        self._threads = None
        self._profile = None

    @property
    def functions(self):
        if self._functions is None:
            text = self._bench.sample("report", "--view", "functions", "--min", "0", "--json",
                                      self.path)
            self._functions = json.loads(text)["functions"]
        return self._functions

    @property
    def threads(self):
        if self._threads is None:
            text = self._bench.sample("report", "--view", "threads", "--json", self.path)
            self._threads = json.loads(text)["threads"]
        return self._threads

    @property
    def profile(self):
        if self._profile is None:
            self._profile = json.loads(self._bench.sample("export", "--format", "json", "-o", "-",
                                                          self.path))
        return self._profile

    def roots_us(self):
        """The sum of the roots' TotalDuration, from the exported profile."""
        nodes = self.profile["Nodes"]
        return sum(nodes[category["NodeId"] - 1]["TotalDuration"]
                   for category in self.profile["Categories"])

    def edges(self):
        """(caller's name, callee's, microseconds) of every node; "" is the caller below a category."""
        nodes, functions = self.profile["Nodes"], self.profile["Functions"]
        names = {child: functions[function - 1]["Name"] for node in nodes
                 for child, function in zip(node.get("NodeIds", ()), node.get("FunctionIds", ()))}
        return [(names.get(number, ""), names[child], nodes[child - 1]["TotalDuration"])
                for number, node in enumerate(nodes, 1) for child in node.get("NodeIds", ())]

    def below_us(self, category, function):
        """Microseconds of a function in one category, a group of threads that are named alike."""
        nodes, functions = self.profile["Nodes"], self.profile["Functions"]

        def walk(number):
            node = nodes[number - 1]
            return sum(nodes[child - 1]["TotalDuration"]
                       if function in functions[which - 1]["Name"] else walk(child)
                       for child, which in zip(node.get("NodeIds", ()),
                                               node.get("FunctionIds", ())))

        return sum(walk(one["NodeId"]) for one in self.profile["Categories"]
                   if one["Name"] == category)

    def self_us(self, name):
        return sum(one["self_us"] for one in self.functions if name in (one["name"] or ""))

    def total_us(self, name):
        return sum(one["total_us"] for one in self.functions if name in (one["name"] or ""))

    def thread_us(self, name):
        return sum(one.get("cpu_us", one.get("wall_us")) for one in self.threads if one["name"] == name)


class Bench:
    """One run of the figures: its options and a folder that goes away."""

    def __init__(self, build, sample, agent, quick, source=None, runs=None):
        self.build = os.path.abspath(build)
        self.sample_path = os.path.abspath(sample or os.path.join(build, "bin", "sample"))
        self.agent_path = os.path.abspath(agent or self._built_agent())
        self.quick = quick
        self.source = source  # None: what sample chooses
        self.runs = runs  # None: as many as is usual
        self._folder = tempfile.TemporaryDirectory(prefix="figures-")
        self.folder = self._folder.name

    def _built_agent(self):
        for folder, _, files in os.walk(self.build):
            if "libsample.so" in files:
                return os.path.join(folder, "libsample.so")
        return os.path.join(self.build, "libsample.so")

    def target(self, name):
        path = os.path.join(self.build, "tests", "targets", name)
        if not os.path.exists(path):
            raise Failed("build the target %s first: cmake --build %s --target %s"
                         % (name, os.path.basename(self.build), name))
        return path

    def seconds(self, full):
        return full / 10 if self.quick else full

    def count(self, full, quick):
        return quick if self.quick else full

    def file(self, name):
        return os.path.join(self.folder, name)

    def sample(self, *arguments):
        done = subprocess.run([self.sample_path, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failed("sample %s: %s" % (" ".join(arguments[:3]),
                                            done.stderr.decode(errors="replace").strip()))
        return done.stdout.decode()

    def named(self, what):
        """What a row is called: with the source, if one was asked for."""
        return "%s [%s]" % (what, self.source) if self.source else what

    def knows(self, option, value):
        """Whether the help of `sample record` names this value of an option."""
        line = next((line for line in self.sample("record", "--help").splitlines()
                     if line.lstrip().startswith(option + " ")), "")
        return re.search(r"\b%s\b" % re.escape(value), line) is not None

    def record(self, command, frequency="10k", options=(), quiet=True, check=True, as_user=False,
               report=True):
        """Records a command; (what it did, its Recording, or None without `report`). `as_user`: by
        somebody without privileges, also if we are root."""
        folder = self._user_folder() if as_user else self.folder
        path = os.path.join(folder, "recording.utrace")
        words = [self.sample_path, *(["--quiet"] if quiet else []), "--force", "--freq", frequency,
                 *(["--source", self.source] if self.source else []), "-o", path, *options, "--",
                 *command]
        done = run([*(without_privileges() if as_user else []), *words], check=check)
        return done, Recording(self, path) if report else None

    def _user_folder(self):
        """A folder where such a user may write."""
        folder = self.file("user")
        if not os.path.exists(folder):
            os.mkdir(folder)
            if os.geteuid() == 0:
                os.chmod(self.folder, 0o711)
                os.chown(folder, NOBODY, NOBODY)
        return folder


def run(words, check=True, env=None, timeout=None):
    """Runs with stdin empty; what it printed is kept, and when it had ended (ended_ns)."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **(env or {})},
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired as expired:
        raise Failed("%s hung for %d s" % (" ".join(words[-4:]), timeout)) from expired
    done.ended_ns = time.monotonic_ns()
    if check and done.returncode != 0:
        raise Failed("%s ended with %d: %s" % (" ".join(words[-4:]), done.returncode,
                                               done.stderr.decode(errors="replace").strip()))
    return done


def without_privileges():
    """Words before a command that make it an ordinary user's."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Failed("setpriv is not installed")
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
            "--inh-caps=-all"]


@contextlib.contextmanager
def sysctl(name, value):
    """A setting of the kernel while the block runs; put back however that ends."""
    path = "/proc/sys/" + name.replace(".", "/")
    with open(path, encoding="utf-8") as setting:
        before = setting.read().strip()
    if before == str(value):
        yield
        return

    def put(text):
        try:
            with open(path, "w", encoding="utf-8") as setting:
                setting.write(text)
        except OSError as failure:
            raise Failed("%s is %s and cannot be set to %s: %s" % (name, before, text,
                                                                  failure.strerror)) from failure

    handlers = {number: signal.signal(number, lambda *_: sys.exit(1))
                for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        put(str(value))
        yield
    finally:
        put(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def told_all(done, key):
    """All numbers after key= in what a target printed, in order."""
    found = re.findall(rb"^" + key.encode() + rb"=(\d+)$", done.stdout, re.M)
    if not found:
        raise Failed("the target did not print " + key)
    return [int(one) for one in found]


def told(done, key):
    """The number after key= in what a target printed."""
    found = re.search(rb"^" + key.encode() + rb"=(\d+)$", done.stdout, re.M)
    if not found:
        raise Failed("the target did not print " + key)
    return int(found.group(1))


class Table:
    """Rows of: what, figure, required, PASS or MISS, runs."""

    def __init__(self):
        self.missed = 0
        print("%-58s %-22s %-14s %-5s %s" % ("what", "figure", "required", "", "runs"))

    def row(self, what, figure, required, passed, runs):
        self.missed += 0 if passed else 1
        print("%-58s %-22s %-14s %-5s %s" % (what, figure, required,
                                             "PASS" if passed else "MISS", runs), flush=True)

    def failed(self, what, why):
        self.missed += 1
        print("%-58s not measured: %s" % (what, why), flush=True)


def note(text):
    print(text, file=sys.stderr, flush=True)

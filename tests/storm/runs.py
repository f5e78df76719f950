"""Runs a command bare and under `sample`, as root or as an ordinary user, and says what differs.

What a run leaves (its words, its end, processes, files) belongs to the comparison: this process is made the
one that orphans come to, so that it finds what is left and can end it. Only processes below this one are ever
ended.
"""
import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = 65534  # a user without any privilege, as Debian numbers it
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 20  # how long what a run leaves may take to end


@dataclasses.dataclass(frozen=True)
class Setting:
    """How `sample` is told to sample, and for whom."""
    source: str
    clock: str
    freq: str
    user: int

    def options(self):
        source = ["--source", self.source] if self.clock == "cpu" else []
        return [*source, "--clock", self.clock, "--freq", self.freq]

    @property
    def kind(self):
        return self.source if self.clock == "cpu" else "wall"

    def __str__(self):
        return "%s at %s, %s" % (self.kind, self.freq, "root" if self.user == 0 else "ordinary user")


KINDS = [("sigtrap", "cpu"), ("perf", "cpu"), ("thread", "cpu"), ("auto", "wall")]
FREQUENCIES = ["1k", "10k"]


def users():
    """Whom this process can become; without root only itself."""
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


@dataclasses.dataclass
class Result:
    out: str
    err: str
    status: int  # as a shell has it negated: -9 for SIGKILL
    hung: bool
    left: list  # processes and files
    seconds: float
    said: list = dataclasses.field(default_factory=list)  # lines of sample's own

    def differences(self, bare):
        """Lines that say in what this run is not like `bare`."""
        found = []
        if self.hung:
            found.append("it hangs, or what it left does: bare it took %.1f s" % bare.seconds)
        if self.status != bare.status:
            found.append("ends with %d, bare with %d" % (self.status, bare.status))
        for name, here, there in (("stdout", self.out, bare.out), ("stderr", self.err, bare.err)):
            if here != there:
                found.append("%s: %s" % (name, first_difference(here, there)))
        found += ["is left: " + one for one in self.left if one not in bare.left]
        return found


def first_difference(here, there):
    ours, others = here.splitlines(), there.splitlines()
    for number in range(max(len(ours), len(others))):
        one = ours[number] if number < len(ours) else None
        other = others[number] if number < len(others) else None
        if one != other:
            return "line %d is %r, bare %r" % (number + 1, one, other)
    return "another end of its last line"


def adopt_orphans():
    """What a run leaves becomes a child of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def below(pid):
    """All processes below this one that are not zombies: (id, command line)."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
            with open("/proc/%s/cmdline" % name, encoding="utf-8", errors="replace") as words:
                text = words.read().replace("\0", " ").strip()
        except OSError:
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append((int(name), text))
    found, parents = [], [pid]
    while parents:
        here = children.get(parents.pop(), [])
        found += here
        parents += [child for child, _ in here]
    return found


def waits_in(pid):
    """The kernel functions that each of its threads waits in: what to know of a hang."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/wchan" % (pid, thread), encoding="utf-8") as wchan:
                found.append(wchan.read())
    return "in " + ", ".join(found)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def processes_left(seconds):
    """Waits for what is below this process, and ends it in the end; returns what it was."""
    end = time.monotonic() + seconds
    while True:
        reap()
        found = below(os.getpid())
        if not found or time.monotonic() >= end:
            break
        time.sleep(0.02)
    texts = ["process %s (%s)" % (text, waits_in(pid)) for pid, text in found]
    while found:
        for pid, _ in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(0.02)
        found = below(os.getpid())
    return texts


class Stage:
    """A folder with copies of what is run, which any user may run, and one where all may write."""

    def __init__(self, build):
        adopt_orphans()
        self._folder = tempfile.TemporaryDirectory(prefix="storm-")
        self.folder = self._folder.name
        os.chmod(self.folder, 0o755)
        targets = os.path.join(build, "tests", "targets")
        libraries = ["plugin.so", *("churn_%d.so" % copy for copy in range(8))]
        sanitized = [name for name in ["hello_asan"] if os.path.exists(os.path.join(targets, name))]
        for path in (os.path.join(build, "bin", "sample"), agent_of(build),
                     os.path.join(os.path.dirname(agent_of(build)), "libtarget_ending_library.so"),
                     *(os.path.join(targets, name)
                       for name in ("storm", "hello_static", "ended_early", *sanitized, *libraries))):
            shutil.copy(path, self.folder)
            os.chmod(self.path(os.path.basename(path)), 0o755)
        self.here = self.path("here")
        self.recording = os.path.join(self.here, "r.utrace")

    def path(self, name):
        return os.path.join(self.folder, name)

    def bare(self, command, user, deadline=600.0):
        return self._run(command, user, deadline)

    def sampled(self, command, setting, deadline, options=()):
        """As bare(); the recording stays until the next run."""
        return self._run(self.command_line(command, setting, options), setting.user, deadline)

    def command_line(self, command, setting, options=()):
        return [self.path("sample"), "--quiet", "--force", "--no-symbols", *setting.options(), *options, "-o", self.recording, "--",
                *command]

    def read(self):
        """The stats of the last run's recording, and why it cannot be read, or "" if it can."""
        shown = subprocess.run([self.path("sample"), "report", "--view", "stats", "--json", self.recording],
                               capture_output=True, text=True, check=False, env=environment(self.here))
        try:
            stats = json.loads(shown.stdout)
        except ValueError:
            return {}, "the recording cannot be read: " + (shown.stderr.strip() or "no JSON")
        return stats, "" if stats["whole"] else "the end of the recording is missing"

    def _run(self, command, user, deadline):
        shutil.rmtree(self.here, ignore_errors=True)
        os.mkdir(self.here)
        os.chmod(self.here, 0o777)
        whom = {"user": user, "group": user, "extra_groups": []} if os.geteuid() == 0 else {}
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=self.here, env=environment(self.here), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **whom)
        outputs = [Output(process.stdout), Output(process.stderr)]
        hung = False
        try:
            process.wait(deadline)
        except subprocess.TimeoutExpired:
            hung = True
        seconds = time.monotonic() - begin
        left = processes_left(0 if hung else GRACE_SECONDS)
        if hung:
            process.wait()
        out, err = (output.text() for output in outputs)
        said = [line for line in err.splitlines() if line.startswith("sample: ")]
        err = "".join(line for line in err.splitlines(True) if not line.startswith("sample: "))
        left += ["file " + name for name in sorted(os.listdir(self.here)) if name != "r.utrace"]
        left += ["memory " + name for name in sorted(os.listdir("/dev/shm")) if name.startswith("sample")]
        return Result(out, err, process.returncode, hung, left, seconds, said)


class Output:
    """Reads a pipe to its end, beside."""

    def __init__(self, pipe):
        self._bytes = b""
        self._pipe = pipe
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        self._bytes = self._pipe.read()

    def text(self):
        self._thread.join()
        self._pipe.close()
        return self._bytes.decode(errors="replace")


def environment(folder):
    return {**os.environ, "HOME": folder, "TMPDIR": folder, "SAMPLE_CACHE": "off", "LC_ALL": "C"}


def agent_of(build):
    for folder, _, files in os.walk(build):
        if "libsample.so" in files:
            return os.path.join(folder, "libsample.so")
    raise SystemExit("no libsample.so in %s: cmake --build %s" % (build, build))


def deadline_of(bare):
    """Much more than any load explains."""
    return 60 + 30 * bare.seconds

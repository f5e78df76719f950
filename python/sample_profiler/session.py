"""A session of `sample` by its socket: the same calls as include/sample/profiler.h, and docs/control.md has the words.

No descriptor stays open between calls, and nothing is kept that a fork would have to take care of.
"""
import contextlib
import dataclasses
import enum
import os
import secrets
import signal
import socket
import stat
import struct
import time
import typing
import urllib.parse

from .info import ProfilingInfo, deserialize

_DEFAULT_HZ = 1000
_MOST_HZ = 10000
_PATIENCE_S = 5.0
_PATIENCE_FOR_DATA_S = 60.0
_MOST_LINE_BYTES = 1 << 16
_loads = 0  # Of the agent, by load_agent().


class Result(enum.Enum):
    """What a call came to; str() of one says it in words."""
    OK = "done"
    NO_AGENT = "no agent: run the program with `sample -- COMMAND`"
    NO_SESSION = "no session of `sample` records the process"
    BAD_FREQUENCY = "the frequency must be from 1 to 10000 Hz"
    NOT_OWNER = "another owner of the session sets whether it samples, and how often"
    AMBIGUOUS = "several sessions have that name: give a process id"
    TIMED_OUT = "the session did not answer in time"
    REFUSED = "the session refused"
    NOT_OPEN = "the session is not open"
    FAILED = "the system refused"
    NO_LIBRARY = "libsample.so was not found, or the loader refused it: name its path"
    SIGNAL_IN_USE = ("the program handles or blocks SIGURG, which samples would come by: run it with "
                     "`sample -- COMMAND`")
    PRIVILEGED = "the program has more rights than who started it"

    def __str__(self):
        return self.value

    def __bool__(self):
        """Whether it was done."""
        return self is Result.OK


@dataclasses.dataclass
class State:
    is_connected: bool = False
    is_sampling: bool = False
    frequency_hz: int = 0
    is_owner: bool = False


@dataclasses.dataclass
class Data:
    """What a session has recorded so far, and of which process it was asked for."""
    json: str
    pid: int
    name: str


class _Failure(Exception):
    def __init__(self, result, problem=""):
        super().__init__(problem or str(result))
        self.result = result


def _identity(folder):
    """None where somebody else could put a socket: docs/control.md."""
    with contextlib.suppress(OSError):
        info = os.lstat(folder)
        if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) == 0o700:
            return info.st_dev, info.st_ino
    return None


def _folders():
    user = os.geteuid()
    folders = [f"/run/user/{user}/sample", f"/tmp/sample-{user}"]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        folders.insert(0, os.path.join(runtime, "sample"))
    seen = {None}
    for folder in folders:
        identity = _identity(folder)
        if identity not in seen:
            seen.add(identity)
            yield folder


def _sockets():
    for folder in _folders():
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".sock"):
                    yield os.path.join(folder, name)


def _receive(connection):
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1 << 16)
    return b""


def _converse(path, words, patience_s, wants_rest=False):
    """The reply's line without `ok`, as a dict, and what follows it if that is wanted; raises _Failure."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience_s)
            connection.connect(path)
            user = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            if user not in (0, os.geteuid()):
                raise _Failure(Result.NO_SESSION)
            connection.sendall(words.encode() + b"\n")
            got = _receive(connection)
            while b"\n" not in got and len(got) < _MOST_LINE_BYTES:
                more = _receive(connection)
                if not more:
                    raise _Failure(Result.NO_SESSION)
                got += more
            line, _, rest = got.partition(b"\n")
            parts = [rest]
            is_over = not (wants_rest and line.startswith(b"ok"))
            while not is_over:
                parts.append(_receive(connection))
                is_over = not parts[-1]
    except socket.timeout as problem:
        raise _Failure(Result.TIMED_OUT) from problem
    except (FileNotFoundError, ConnectionError, PermissionError) as problem:
        raise _Failure(Result.NO_SESSION) from problem
    except OSError as problem:
        raise _Failure(Result.FAILED, str(problem)) from problem
    text = line.decode(errors="replace")
    status, _, values = text.partition(" ")
    if status != "ok":
        raise _Failure(Result.REFUSED, values if status == "error" else text)
    pairs = (word.partition("=") for word in values.split())
    return {key: urllib.parse.unquote(value) for key, _, value in pairs}, b"".join(parts)


def _number(values, key, missing=0):
    with contextlib.suppress(ValueError):
        return int(values.get(key, missing))
    return missing


def _comm(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().rstrip("\n")
    return ""


def _is_called(pid, name):
    if _comm(pid) == name:
        return True
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name
    return False


def _sessions_of(process, patience_s):
    """Sockets, and the process in each session: of an id, or of a name, which is that of the session's command or of
    its first process."""
    words = f"status pid={process}" if isinstance(process, int) else "status"
    for path in _sockets():
        try:
            values, _ = _converse(path, words, patience_s)
        except _Failure:
            continue  # A socket that was left behind.
        first = _number(values, "root")
        if isinstance(process, int):
            if _number(values, "member"):
                yield path, process
        elif _is_called(first, process) or os.path.basename(values.get("command", "").split(" ")[0]) == process:
            yield path, first


def _has_agent():
    with contextlib.suppress(OSError), open("/proc/self/maps", "rb") as maps:
        return any(b"/libsample.so" in line or b"/libsample-memory.so" in line for line in maps)
    return False


def _blocks_or_handles(number):
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/status", encoding="utf-8",
                                                errors="replace") as status:
            for line in status:
                if line.startswith(("SigBlk:", "SigCgt:")) and int(line.split()[1], 16) >> (number - 1) & 1:
                    return True
    return False


def _uses_signal():
    """Whether a sample could meet somebody who waits for a signal of the program's."""
    for _ in range(20):
        if not _blocks_or_handles(signal.SIGURG):
            return False
        time.sleep(0.001)  # libc blocks all signals in a thread while it is made.
    return True


def _library():
    """SAMPLE_AGENT, else of the installation that this module is in, else where the loader looks."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.normpath(os.path.join(here, "../../../libsample.so"))
    return os.environ.get("SAMPLE_AGENT") or (beside if os.access(beside, os.R_OK) else "libsample.so")


def load_agent(path: typing.Union[str, os.PathLike, None] = None) -> Result:
    """Loads libsample.so into this process, unless it is there, for good: sample_agent_load() of the C header, and
    docs/profiler-api.md says what a start with the agent has and this has not. Samples are taken from then on, as the
    variables SAMPLE_FREQ, SAMPLE_OUTPUT and so on say. To be called once, early."""
    global _loads
    if not _has_agent():
        import ctypes
        if ctypes.CDLL(None).getauxval(23):  # AT_SECURE
            return Result.PRIVILEGED
        if _uses_signal():
            return Result.SIGNAL_IN_USE
        try:
            ctypes.CDLL(os.fspath(path) if path is not None else _library(), os.RTLD_NOW | os.RTLD_NODELETE)
        except OSError:
            return Result.NO_LIBRARY
        _loads += 1
    return Result.OK if Profiler().status().is_connected else Result.NO_SESSION


class Profiler:
    """The session of this process, or of another one, by its id or its name.

    LookupError: no session records that process, or several have that name, which is that of a session's command or of
    its first process. Calls return a Result, which
    is true where it is Result.OK. A session is one run of `sample` with all the processes that it records: what is
    started or stopped here is started or stopped for all of them. One thread's at a time.
    """

    def __init__(self, process: typing.Union[int, str, None] = None, timeout_s: typing.Optional[float] = None):
        self.pid = None
        self.problem = ""
        self.is_owner = False
        self.on_new_data: typing.Optional[typing.Callable[[Data], None]] = None
        self._timeout_s = timeout_s
        self._token = None
        self._own = None  # The process that _path is of, and the answer.
        self._path = None
        if process is not None:
            self._find(process)

    def start(self, freq: int = _DEFAULT_HZ) -> Result:
        """Samples `freq` times a CPU second from now on: 1 to 10000."""
        return self._set(f"start freq={freq}", True, freq)

    def stop(self) -> Result:
        return self._set("stop", False)

    def pause(self) -> Result:
        return self._set("pause", False)

    def resume(self) -> Result:
        return self._set("resume", True)

    def set_frequency(self, freq: int) -> Result:
        return self._set(f"freq {freq}", freq=freq)

    def status(self) -> State:
        """All false and zero where nobody answers."""
        try:
            values = self._ask("status")[0]
        except _Failure:
            return State()
        return State(True, values.get("state") == "running", _number(values, "freq"), self.is_owner)

    def open(self) -> Result:
        """Joins those who share the session: the first one owns it, and alone sets whether it samples, and how often;
        what was recorded is kept."""
        if self._token is not None:
            return Result.OK
        self._token = secrets.token_hex(16)
        try:
            self._ask("open")
        except _Failure as failure:
            self._token = None
            return self._note(failure)
        return Result.OK

    def close(self) -> Result:
        if self._token is None:
            return Result.NOT_OPEN if self._has_somebody() else Result.NO_AGENT
        result = self._set("close")
        self._token = None
        self.is_owner = False
        return result

    @property
    def is_open(self) -> bool:
        return self._token is not None

    def request_data(self) -> Result:
        """Asks for the callgraph of what was recorded so far, and gives it to on_new_data before it returns."""
        try:
            data = self._data()
        except _Failure as failure:
            return self._note(failure)
        if self.on_new_data is not None:
            self.on_new_data(data)
        return Result.OK

    def data(self) -> typing.Optional[ProfilingInfo]:
        """The same, deserialized; None where there is none."""
        try:
            return deserialize(self._data().json)
        except _Failure as failure:
            self._note(failure)
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_open:
            self.close()

    def _find(self, process):
        found = list(_sessions_of(process, self._timeout_s or _PATIENCE_S))
        if len(found) != 1:
            result = Result.AMBIGUOUS if found else Result.NO_SESSION
            raise LookupError(f"{process}: {result}")
        self._path, self.pid = found[0]

    def _has_somebody(self):
        """Whether this process has an agent is looked up once, again in a forked child, and behind load_agent()."""
        if self.pid is not None:
            return True
        me = (os.getpid(), _loads)
        if self._own is None or self._own[0] != me:
            self._own = (me, _has_agent())
            self._path = None
        return self._own[1]

    def _ask(self, words, patience_s=_PATIENCE_S):
        if not self._has_somebody():
            raise _Failure(Result.NO_AGENT)
        patience_s = self._timeout_s or patience_s
        if self._path is None:
            self._path = next((path for path, _ in _sessions_of(os.getpid(), patience_s)), None)
        if self._path is None:
            raise _Failure(Result.NO_SESSION)
        words = words if self._token is None else f"{words} token={self._token}"
        values, rest = _converse(self._path, words, patience_s, words.startswith("data"))
        if self._token is not None:
            self.is_owner = _number(values, "owner", self.is_owner) != 0
        return values, rest

    def _data(self):
        json = self._ask("data", _PATIENCE_FOR_DATA_S)[1]
        if not json:
            raise _Failure(Result.REFUSED, "the session sent nothing: it may have ended")
        if not json.endswith(b"}\n"):
            raise _Failure(Result.REFUSED, "the session sent a part of the data only")
        pid = self.pid if self.pid is not None else os.getpid()
        return Data(json.decode(), pid, _comm(pid))

    def _note(self, failure):
        self.problem = str(failure)
        return failure.result

    def _set(self, words, samples=..., freq=...):
        """`...`: what it does already."""
        if not self._has_somebody():
            return Result.NO_AGENT
        if freq is not ... and (not isinstance(freq, int) or not 1 <= freq <= _MOST_HZ):
            return Result.BAD_FREQUENCY
        try:
            values = self._ask(words)[0]
        except _Failure as failure:
            return self._note(failure)
        # Another owner may have asked for the same.
        is_otherwise = (samples not in (..., values.get("state") == "running")
                        or freq not in (..., _number(values, "freq")))
        return Result.NOT_OWNER if is_otherwise and _number(values, "owner", 1) == 0 else Result.OK


@contextlib.contextmanager
def profile(process: typing.Union[int, str, None] = None, freq: int = _DEFAULT_HZ):
    """Samples inside of the block, this process or another one, and gives a Profiler. Without the agent the block
    runs as it would without this. ValueError: no such frequency. LookupError: as Profiler's."""
    if not isinstance(freq, int) or not 1 <= freq <= _MOST_HZ:
        raise ValueError(str(Result.BAD_FREQUENCY))
    profiler = Profiler(process)
    result = profiler.start(freq)
    try:
        yield profiler
    finally:
        if result in (Result.OK, Result.NOT_OWNER):
            profiler.stop()

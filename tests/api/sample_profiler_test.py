"""The Python package against a session that is none: the same protocol as fake_session.h. What an agent answers is
tested by examples and end to end."""
import contextlib
import os
import pathlib
import socket
import tempfile
import threading
import unittest
from unittest import mock

from sample_profiler import Profiler, Result, State, deserialize, profile

DATA = pathlib.Path(os.environ["SAMPLE_TEST_DATA"])


class FakeSession:
    """Answers each request's line by `talk`, and notes it."""

    def __init__(self, path, talk=None):
        self.requests = []
        self.owners = []
        self.freq = "1000"
        self.sampling = False
        self.json = "{}\n"
        self.pid = os.getpid()
        self._talk = talk or self._answer
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(16)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("r") as lines:
                for line in lines:
                    self.requests.append(line.rstrip("\n"))
                    answer = self._talk(self.requests[-1])
                    with contextlib.suppress(OSError):
                        connection.sendall(answer.encode())
                    if not answer.endswith("\n") or line.startswith("data"):
                        connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, line):
        verb, *words = line.split()
        values = dict(word.partition("=")[::2] for word in words)
        token = values.get("token")
        if verb == "open":
            self.owners.append(token)
        elif verb == "close":
            self.owners.remove(token)
            return "ok\n"
        elif verb == "data":
            return "ok\n" + self.json
        is_owner = token is None or not self.owners or self.owners[0] == token
        if is_owner and verb in ("start", "freq"):
            self.freq = values.get("freq", words[0])
        if is_owner:
            self.sampling = verb in ("start", "resume") or (self.sampling and verb not in ("stop", "pause"))
        return (f"ok state={'running' if self.sampling else 'stopped'} freq={self.freq}"
                f"{f' owner={is_owner:d}' if token else ''} root={self.pid} command=/a/game%20server"
                f" member={values.get('pid') == str(self.pid):d}\n")


class WithSessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "sample"
        changed = mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": folder.name})
        changed.start()
        self.addCleanup(changed.stop)

    def session(self, name="77", talk=None):
        session = FakeSession(self.folder / f"{name}.sock", talk)
        self.addCleanup(session.close)
        return session


class WithoutAnAgent(unittest.TestCase):
    def test_each_call_says_so(self):
        profiler = Profiler()
        for call in (profiler.start, profiler.stop, profiler.pause, profiler.resume, profiler.open, profiler.close,
                     profiler.request_data):
            self.assertIs(call(), Result.NO_AGENT, call)
        self.assertIs(profiler.set_frequency(10), Result.NO_AGENT)
        self.assertEqual(profiler.status(), State())
        self.assertIsNone(profiler.data())

    def test_a_profiled_block_runs_as_ever(self):
        ran = []
        with profile(freq=10000):
            ran.append(True)
        self.assertTrue(ran)
        with self.assertRaises(ZeroDivisionError), profile():
            print(1 // 0)


class OfAnother(WithSessions):
    def test_is_found_by_its_id_and_steered(self):
        session = self.session()
        profiler = Profiler(os.getpid())
        self.assertIs(profiler.start(10000), Result.OK)
        self.assertEqual(profiler.status(), State(True, True, 10000, False))
        self.assertIs(profiler.start(10001), Result.BAD_FREQUENCY)
        self.assertIs(profiler.set_frequency(0), Result.BAD_FREQUENCY)
        for call in (profiler.pause, profiler.resume, profiler.stop):
            self.assertIs(call(), Result.OK)
        self.assertEqual(session.requests, [f"status pid={os.getpid()}", "start freq=10000", "status", "pause", "resume", "stop"])

    def test_is_found_by_a_name_that_one_session_has(self):
        self.session()
        name = os.path.basename(os.readlink("/proc/self/exe"))
        self.assertEqual(Profiler(name).pid, os.getpid())
        self.assertEqual(Profiler("game").pid, os.getpid())
        with self.assertRaisesRegex(LookupError, "no session"):
            Profiler("no such program")
        self.session("78")
        with self.assertRaisesRegex(LookupError, "several"):
            Profiler(name)

    def test_is_sampled_inside_of_a_block(self):
        session = self.session()
        with profile(os.getpid(), freq=2000) as profiler:
            self.assertTrue(profiler.status().is_sampling)
        self.assertEqual(session.sampling, False)
        with self.assertRaises(ValueError), profile(os.getpid(), freq=10001):
            self.fail("it began")

    def test_shares_a_session_which_the_first_owner_sets(self):
        session = self.session()
        with Profiler(os.getpid()) as first, Profiler(os.getpid()) as second:
            self.assertIs(first.close(), Result.NOT_OPEN)
            self.assertTrue(first.open())
            self.assertTrue(second.open())
            self.assertEqual((first.is_owner, second.is_owner), (True, False))
            self.assertIs(first.start(2000), Result.OK)
            self.assertIs(second.start(10000), Result.NOT_OWNER)
            self.assertIs(second.start(2000), Result.OK)
            self.assertIs(second.resume(), Result.OK)
            self.assertIs(second.stop(), Result.NOT_OWNER)
            self.assertIs(second.pause(), Result.NOT_OWNER)
            self.assertEqual((session.freq, session.sampling), ("2000", True))
            self.assertIs(first.stop(), Result.OK)
            self.assertIs(second.start(2000), Result.NOT_OWNER)
            self.assertFalse(session.sampling)
        self.assertEqual(session.owners, [])

    def test_is_found_in_a_private_folder_alone(self):
        self.session()
        self.folder.chmod(0o755)
        with self.assertRaises(LookupError):
            Profiler(os.getpid())
        self.folder.chmod(0o700)
        self.assertEqual(Profiler(os.getpid()).pid, os.getpid())
        real = self.folder.rename(self.folder.parent / "real")
        self.folder.symlink_to(real)
        with self.assertRaises(LookupError):
            Profiler(os.getpid())

    def test_hands_data_on_with_who_they_came_from(self):
        session = self.session()
        session.json = (DATA / "json/published_example.json").read_text()
        profiler = Profiler(os.getpid())
        got = []
        profiler.on_new_data = got.append
        self.assertIs(profiler.request_data(), Result.OK)
        self.assertEqual([(data.json, data.pid) for data in got], [(session.json, os.getpid())])
        self.assertEqual(profiler.data(), deserialize(session.json))
        session.json = session.json[:-1]
        self.assertIs(profiler.request_data(), Result.REFUSED)
        self.assertIn("a part", profiler.problem)
        self.assertIsNone(profiler.data())

    def test_a_session_that_refuses_is_silent_or_ends_is_told_apart(self):
        over = threading.Event()
        self.addCleanup(over.set)
        answers = {"stop": lambda: "error the recording is complete\n", "pause": lambda: "", "resume": over.wait}

        def talk(line):
            return str(answers[line]()) if line in answers else "ok member=1\n"

        self.session(talk=talk)
        profiler = Profiler(os.getpid())
        self.assertIs(profiler.stop(), Result.REFUSED)
        self.assertEqual(profiler.problem, "the recording is complete")
        self.assertIs(profiler.pause(), Result.NO_SESSION)
        profiler = Profiler(os.getpid(), timeout_s=0.05)
        self.assertIs(profiler.resume(), Result.TIMED_OUT)
        over.set()


class Deserialized(unittest.TestCase):
    def test_the_published_example_is_as_the_document_describes(self):
        info = deserialize((DATA / "json/published_example.json").read_bytes())
        self.assertEqual((info.version, info.session_start_time), (2, 1704850750514))
        self.assertEqual([category.node_id for category in info.categories], [4, 1])
        self.assertEqual(info.node(2).children, {2: 3, 5: 7})
        self.assertEqual((info.node(2).duration, info.node(3).duration), (0, 1267))
        self.assertEqual([function.label for function in info.functions][:4:3], ["main", "Workspace.Actor.Script:1"])

    def test_flags_are_fields(self):
        info = deserialize('{"Version":2,"Categories":[],"Nodes":[],"Functions":['
                           '{"TotalDuration":1,"Flags":1},{"TotalDuration":2,"Flags":2}]}')
        self.assertEqual([(each.is_native, each.is_plugin) for each in info.functions], [(True, False), (False, True)])

    def test_what_is_not_of_the_format_is_refused(self):
        whole = ('{"Version":2,"Categories":[{"Name":"a","NodeId":1}],"Nodes":[{"TotalDuration":5,"FunctionIds":[1],'
                 '"NodeIds":[2]},{"TotalDuration":4}],"Functions":[{"TotalDuration":5}]}')
        self.assertEqual(deserialize(whole).node(1).duration, 1)
        for before, after in (("2", "1"), ('"NodeIds":[2]', '"NodeIds":[1]'), ('"NodeIds":[2]', '"NodeIds":[3]'),
                              ('"NodeIds":[2]', '"NodeIds":[]'), ("[1]", "[2]"), ("[1]", "[true]"), (":4", ":-4"),
                              (":4", ":4.5"), (":4", ':"4"'), ('"Name":"a"', '"Name":1'), ('"Functions"', '"Other"'),
                              ('"TotalDuration":4', ""), ("]}", "]"), ("{", "[{"), (":4", ":null"),
                              ('"Name":"a"', '"Name":null'), ('"Name":"a"', r'"Name":"\ud800"'),
                              (":5}", ':5,"Line":null}'), (":5}", ':5,"Line":4294967296}'), (":5}", ':5,"Name":null}'),
                              (":4", ":18446744073709551616"), (":4", ':4,"NodeIds":[]'), (":4", ':4,"Other":NaN')):
            with self.assertRaises(ValueError, msg=(before, after)):
                deserialize(whole.replace(before, after, 1))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""Exports that speedscope reads must show the totals that we show: asked of the page itself.

usage: check_exports.py SAMPLE EXPORT_EXAMPLE TARGETS NPM_FOLDER [UNITTEST_OPTION...]

SAMPLE is the command, EXPORT_EXAMPLE the program of tests/export, TARGETS the folder of tests/targets'
programs, NPM_FOLDER where scripts/install-packages put the packages of tests/readers. Exits with 77, for
ctest a skip, if chromium, jsonschema or the packages are missing. Run by Debian's python3: jsonschema is
one of its packages.
"""

import copy
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chrome_trace  # noqa: E402
import perf_script  # noqa: E402
import speedscope  # noqa: E402
from chromium import Browser, BrowserError, find_chromium  # noqa: E402

SCHEMA = "node_modules/speedscope/dist/release/file-format-schema.json"
SUFFIXES = {"speedscope": ".speedscope.json", "chrome": ".json", "perf-script": ".txt", "folded": ".txt"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def by_frame(profiles, key, scale=1):
    """Of all profiles of a page: [total, self] in integers of 1/scale units, frames without either left out."""
    sums = {}
    for profile in profiles:
        for frame in profile["frames"]:
            total, self = (round(frame[field] * scale) for field in ("total", "self"))
            if total:
                known = sums.setdefault(key(frame), [0, 0])
                known[0] += total
                known[1] += self
    return sums


def place(frame):
    return frame["name"], frame.get("file") or "", frame.get("line") or 0


class Reads(unittest.TestCase):
    """One browser for all; each file is opened in a page of its own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sample-readers-")
        cls.browser = Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def read(self, path):
        state = speedscope.read(self.browser, NPM_FOLDER, path)
        self.assertEqual(state["complaints"], [])
        return state

    def assert_valid_speedscope(self, path):
        import jsonschema
        schema = load(os.path.join(NPM_FOLDER, SCHEMA))
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.Draft7Validator(schema).validate(load(path))


class MadeUp(Reads):
    """A profile that has everything that is hard, with totals known to the nanosecond."""

    def export(self, format_name):
        path = self.path("made-up-" + format_name + SUFFIXES[format_name])
        run(EXPORT_EXAMPLE, format_name, path)
        return path

    def functions(self):
        path = self.path("totals")
        run(EXPORT_EXAMPLE, "totals", path)
        return load(path)

    def expected(self, key):
        sums = {}
        for function in self.functions():
            known = sums.setdefault(key(function), [0, 0])
            known[0] += function["total_ns"]
            known[1] += function["self_ns"]
        return sums

    def test_speedscope(self):
        path = self.export("speedscope")
        self.assert_valid_speedscope(path)
        state = self.read(path)
        self.assertEqual([profile["name"] for profile in state["profiles"]], [
            "app, app (pid 4000, tid 4000)", "app, worker 1 (pid 4000, tid 4001)",
            "app, worker 2 (pid 4000, tid 4002)"])
        self.assertEqual({profile["unit"] for profile in state["profiles"]}, {"nanoseconds"})
        self.assertEqual(by_frame(state["profiles"], place), self.expected(place))
        heaviest = max(profile["weight"] for profile in state["profiles"])
        self.assertEqual(state["profiles"][state["active"]]["weight"], heaviest)

    def test_chrome(self):
        path = self.export("chrome")
        self.assertEqual(chrome_trace.faults(load(path)), [])
        state = self.read(path)
        self.assertEqual([profile["name"] for profile in state["profiles"]], [
            "app (pid 4000), app (tid 4000)", "app (pid 4000), worker 1 (tid 4001)",
            "app (pid 4000), worker 2 (tid 4002)"])
        self.assertEqual(by_frame(state["profiles"], lambda frame: frame["name"], 1000),
                         self.expected(lambda function: function["name"]))

    def test_perf_script(self):
        path = self.export("perf-script")
        entries = perf_script.read(text_of(path))
        names = {"libpart two.so+0x1f": "[libpart two.so+0x1f]",
                 "(anonymous namespace)::hidden(long)": "::(anonymous namespace)::hidden(long)"}
        selves = {}
        for (name, _), (_, self_ns) in perf_script.totals(entries).items():
            selves[name] = selves.get(name, 0) + self_ns
        expected = self.expected(lambda function: names.get(function["name"], function["name"]))
        self.assertEqual(selves, {name: self_ns for name, (_, self_ns) in expected.items()})
        state = self.read(path)
        shares = perf_script.totals(entries, perf_script.time_shares(entries))
        read = {}
        for profile in state["profiles"]:
            for frame in profile["frames"]:
                known = read.setdefault((frame["name"], frame["file"]), [0, 0])
                known[0] += frame["total"]
                known[1] += frame["self"]
        self.assertEqual(set(read), set(shares))
        for frame, figures in read.items():
            for figure, share in zip(figures, shares[frame]):
                self.assertTrue(math.isclose(figure, share, abs_tol=1e-9), (frame, figures, shares[frame]))
        self.assertEqual(sorted(profile["name"] for profile in state["profiles"]), [
            "app pid: 4000 tid: 4000", "worker_1 pid: 4000 tid: 4001", "worker_2 pid: 4000 tid: 4002"])

    def test_folded(self):
        path = self.export("folded")
        total_us = sum(function["self_ns"] for function in self.functions()) // 1000
        lines = [line.rsplit(" ", 1) for line in text_of(path).splitlines()]
        self.assertEqual(sum(int(value) for _, value in lines), total_us)
        state = self.read(path)
        self.assertEqual(state["profiles"][0]["weight"], total_us)
        self.assertEqual(sum(frame["self"] for frame in state["profiles"][0]["frames"]), total_us)


class Recorded(Reads):
    """A recording of a program with threads, inlined functions and a pause."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = os.path.join(cls.folder.name, "threads.utrace")
        run(SAMPLE, "--freq", "1k", "--quiet", "-o", cls.recording, "--",
            os.path.join(TARGETS, "threads"), "2", "0.15")
        report = json.loads(run(SAMPLE, "report", "--view", "functions", "--json", cls.recording))
        cls.functions = report["functions"]
        cls.total_us = report["total_us"]

    def export(self, format_name):
        path = self.path("recorded-" + format_name + SUFFIXES[format_name])
        run(SAMPLE, "export", "--format", format_name, "-o", path, self.recording)
        return path

    def assert_totals(self, read, key):
        """`read`: in nanoseconds, by key; to the digit of what the report shows."""
        expected = {}
        for function in self.functions:
            expected.setdefault(key(function), []).append([function["total_us"], function["self_us"]])
        shown = {name: [value // 1000 for value in values] for name, values in read.items()}
        self.assertLessEqual({name for name, values in shown.items() if values[0]}, set(expected))
        # Where functions share a key, each of them was floored: a sum of those is not compared.
        alone = {name: figures[0] for name, figures in expected.items() if len(figures) == 1 and figures[0][0] > 0}
        self.assertEqual({name: shown.get(name) for name in alone}, alone)
        self.assertIn("worker_main", str(sorted(read)))

    def test_speedscope(self):
        path = self.export("speedscope")
        self.assert_valid_speedscope(path)
        state = self.read(path)
        self.assertEqual(state["name"], load(path)["name"])
        names = " ".join(profile["name"] for profile in state["profiles"])
        self.assertIn("threads, worker-1 (pid ", names)
        self.assert_totals(by_frame(state["profiles"], place), lambda function: (
            function["name"], function["source"], function["line"]))

    def test_chrome(self):
        path = self.export("chrome")
        self.assertEqual(chrome_trace.faults(load(path)), [])
        state = self.read(path)
        self.assert_totals(by_frame(state["profiles"], lambda frame: frame["name"], 1000),
                           lambda function: function["name"])

    def test_perf_script(self):
        path = self.export("perf-script")
        entries = perf_script.read(text_of(path))
        self.assertEqual(sum(entry.period for entry in entries) // 1000, self.total_us)
        self.assertIn(("worker_main(unsigned long, unsigned long, unsigned long&)"),
                      {name for name, _ in perf_script.totals(entries)})
        self.read(path)

    def test_folded(self):
        state = self.read(self.export("folded"))
        self.assertEqual(state["profiles"][0]["weight"], self.total_us)


class Validators(unittest.TestCase):
    """Checks that find nothing are no checks: each of these must be refused."""

    TRACE = {"traceEvents": [
        {"ph": "M", "pid": 1, "tid": 2, "ts": 0, "name": "thread_name", "args": {"name": "t"}},
        {"ph": "M", "pid": 1, "tid": 2, "ts": 0, "name": "process_name", "args": {"name": "p"}},
        {"ph": "B", "pid": 1, "tid": 2, "ts": 1.5, "name": "main"},
        {"ph": "B", "pid": 1, "tid": 2, "ts": 2, "name": "work"},
        {"ph": "C", "pid": 1, "tid": 2, "ts": 0, "name": "samples", "args": {"samples": 1}},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 3, "name": "work"},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 3, "name": "main"}]}

    def refused(self, change):
        trace = copy.deepcopy(self.TRACE)
        change(trace["traceEvents"])
        return chrome_trace.faults(trace)

    def test_chrome_trace(self):
        self.assertEqual(chrome_trace.faults(self.TRACE), [])
        self.assertTrue(chrome_trace.faults([]))
        self.assertIn("ends before what it called", self.refused(lambda e: e.insert(5, e.pop(6)))[0])
        self.assertIn("main never ends", self.refused(lambda e: e.pop())[0])
        self.assertIn("has not begun", self.refused(lambda e: e.pop(2))[-1])
        self.assertIn("behind one at", self.refused(lambda e: e[5].update(ts=1))[0])
        self.assertIn("no thread_name", self.refused(lambda e: e.pop(0))[0])
        self.assertIn("no process_name", self.refused(lambda e: e.pop(1))[0])
        self.assertIn("no ts", self.refused(lambda e: e[2].pop("ts"))[0])
        self.assertIn("no pid", self.refused(lambda e: e[2].pop("pid"))[0])
        self.assertIn("no name", self.refused(lambda e: e[2].pop("name"))[0])
        self.assertIn("without numbers", self.refused(lambda e: e[4].pop("args"))[0])
        self.assertIn("neither a slice", self.refused(lambda e: e[4].update(ph="Q"))[0])
        self.assertIn("without a length", self.refused(lambda e: e[4].update(ph="X"))[0])
        self.assertIn("no id", self.refused(lambda e: e[4].update(ph="s"))[0])

    def test_perf_script(self):
        good = "app 1/2  0.000000001: 5 cpu-clock: \n\t 0 main (/a)\n\n"
        self.assertEqual(perf_script.totals(perf_script.read(good)), {("main", "/a"): [5, 5]})
        for bad in (good.replace("1/2", "1"), good.replace(" (/a)", ""), good.replace("main", "x+0x1f"),
                    good.replace("main", "(anonymous namespace)::f"), good.replace("/a", "/a b")):
            with self.assertRaises(ValueError, msg=bad):
                perf_script.read(bad)

    def test_a_page_that_complains(self):
        with Browser() as browser:
            for body, complaint in (("console.error('bad')", "bad"), ("throw new Error('worse')", "worse"),
                                    ("console.assert(false, 'odd')", "odd")):
                page = browser.open(f"data:text/html,<script>{body}</script>")
                page.settle()
                self.assertIn(complaint, " ".join(page.errors))
            with self.assertRaises(BrowserError):
                page.evaluate("nothing.there")

    def test_a_file_that_speedscope_refuses(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file, Browser() as browser:
            file.write('{"nothing": "known"}')
            file.flush()
            with self.assertRaises(speedscope.Unreadable):
                speedscope.read(browser, NPM_FOLDER, file.name)


def missing():
    """What is not there, or None."""
    if not os.path.exists(os.path.join(NPM_FOLDER, speedscope.PAGE)):
        return f"no speedscope in {NPM_FOLDER}"
    try:
        find_chromium()
        import jsonschema  # noqa: F401
    except (BrowserError, ImportError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    SAMPLE, EXPORT_EXAMPLE, TARGETS, NPM_FOLDER = sys.argv[1:5]
    if missing():
        print(f"SKIP_{missing()}: run scripts/install-packages")
        sys.exit(77)
    os.environ["SAMPLE_CACHE"] = "off"
    unittest.main(argv=[sys.argv[0], "--verbose", *sys.argv[5:]])

#!/usr/bin/env python3
"""The Firefox Profiler's own code must show the figures of our report: profiler-cli, asked for all functions.

usage: check_firefox.py SAMPLE TARGETS NPM_FOLDER [UNITTEST_OPTION...]

SAMPLE is the command, TARGETS the folder of tests/targets' programs, NPM_FOLDER where
scripts/install-packages put the packages of tests/readers. Exits with 77, for ctest a skip, if profiler-cli
or node is missing. It keeps a process for each profile and asks no network.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROFILER = "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


class Profiler:
    """A profile that profiler-cli has loaded; a context manager, which ends its process.

    Its own command to start that process gives up after half a second, which a busy machine exceeds.
    """

    SESSION = "checked"

    def __init__(self, folder, path):
        # The path of a socket in there may have 107 characters.
        self.sessions = os.path.join(folder, "s")
        os.mkdir(self.sessions)
        self.environment = dict(os.environ, PROFILER_CLI_SESSION_DIR=self.sessions)
        self.process = subprocess.Popen(
            ["node", os.path.join(NPM_FOLDER, PROFILER), "--daemon", path, "--session", self.SESSION],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_files()
            self.wait_for_profile()
        except AssertionError:
            self.__exit__()
            raise

    def wait_for_files(self):
        """A question that comes before the process listens would take it for dead and delete its files."""
        files = [os.path.join(self.sessions, self.SESSION + suffix) for suffix in (".json", ".sock")]
        deadline = time.monotonic() + 60
        while not all(map(os.path.exists, files)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"profiler-cli does not start: {os.listdir(self.sessions)}")
            time.sleep(0.05)

    def wait_for_profile(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                self.ask("status")
                return
            except AssertionError as error:
                if "still loading" not in str(error).lower() or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def ask(self, *words):
        return run("node", os.path.join(NPM_FOLDER, PROFILER), *words, "--session", self.SESSION,
                   env=self.environment, timeout=120)

    def functions(self):
        """[total, self] by name, in nanoseconds, or counts, of all threads together."""
        sums = {}
        for thread in json.loads(self.ask("thread", "list", "--json"))["threads"]:
            answer = json.loads(self.ask("thread", "functions", "--json", "--include-idle", "--limit", "0",
                                         "--thread", thread["threadHandle"]))
            factor = 1_000_000 if answer["weightType"] == "tracing-ms" else 1
            for function in answer["functions"]:
                known = sums.setdefault(function["name"], [0, 0])
                known[0] += round(function["totalSamples"] * factor)
                known[1] += round(function["selfSamples"] * factor)
        return sums

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Reads(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sample-firefox-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *words):
        run(SAMPLE, "--quiet", "-o", self.path("r.utrace"), *words)

    def assert_same_figures(self, unit, divisor):
        path = self.path("r.json")
        run(SAMPLE, "export", "--format", "firefox", "-o", path, self.path("r.utrace"))
        report = json.loads(run(SAMPLE, "report", "--view", "functions", "--json", self.path("r.utrace")))
        expected = {}
        for function in report["functions"]:
            expected.setdefault(function["name"], []).append([function["total_" + unit], function["self_" + unit]])
        with Profiler(self.folder, path) as profiler:
            read = profiler.functions()
            meta = profiler.ask("profile", "meta")
        # The profiler lists no function whose samples weigh nothing: a thread's clock had no time left for them.
        self.assertLessEqual({name for name, figures in expected.items() if max(figures)[0] > 0}, set(read))
        self.assertLessEqual(set(read), set(expected))
        # Where functions share a name, each of them was floored: a sum of those is not compared.
        alone = {name: expected[name][0] for name in read if len(expected[name]) == 1}
        self.assertEqual({name: [value // divisor for value in read[name]] for name in alone}, alone)
        self.assertGreater(len(alone), 5)
        self.assertIn("samples lost: 0", meta)

    def test_threads(self):
        self.record("--freq", "2k", "--", os.path.join(TARGETS, "threads"), "2", "0.2")
        self.assert_same_figures("us", 1000)

    def test_page_faults(self):
        self.record("--event", "page-faults", "--", os.path.join(TARGETS, "faults"), "touch", "500")
        self.assert_same_figures("count", 1)

    def test_what_the_program_says(self):
        self.record("--trace", "default", "--", os.path.join(TARGETS, "says"))
        path = self.path("r.json")
        run(SAMPLE, "export", "--format", "firefox", "-o", path, self.path("r.utrace"))
        with Profiler(self.folder, path) as profiler:
            markers = profiler.ask("thread", "markers", "--list")
            counters = profiler.ask("counter", "list")
        for name in ("main", "zones", "outer", "inner", "coroutine", "loading"):
            self.assertRegex(markers, rf" {name} +t=[^ ]+ +[0-9.]+(ns|μs|ms) ")
        self.assertRegex(markers, r"Bookmark +t=[^ ]+ +instant .* level one of 3\n")
        self.assertRegex(markers, r"LogMessage +t=[^ ]+ +instant .* 99\.5 % of 7")
        for name in ("heap", "items", "load", "shared"):
            self.assertIn(f": {name} (Counter)", counters)

    def test_refuses_what_is_no_profile(self):
        with open(self.path("r.json"), "w", encoding="utf-8") as file:
            file.write('{"meta": {"preprocessedProfileVersion": 66}}')
        with self.assertRaisesRegex(AssertionError, "load failed"):
            with Profiler(self.folder, self.path("r.json")) as profiler:
                profiler.functions()


def missing():
    if not os.path.exists(os.path.join(NPM_FOLDER, PROFILER)):
        return f"no profiler-cli in {NPM_FOLDER}"
    return None if shutil.which("node") else "no node"


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    SAMPLE, TARGETS, NPM_FOLDER = sys.argv[1:4]
    if missing():
        print(f"SKIP_{missing()}: run scripts/install-packages")
        sys.exit(77)
    os.environ["SAMPLE_CACHE"] = "off"
    unittest.main(argv=[sys.argv[0], "--verbose", *sys.argv[4:]])

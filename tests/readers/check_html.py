#!/usr/bin/env python3
"""Our HTML page in headless Chromium must show the figures of our report, and nothing must get out of its data.

usage: check_html.py SAMPLE TARGETS [UNITTEST_OPTION...]

SAMPLE is the command, TARGETS the folder of tests/targets' programs. Exits with 77, for ctest a skip, if
chromium is missing.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser, BrowserError, find_chromium  # noqa: E402

NAMES = ["</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 2'>", "--><!--<script>",
         "quote\"'`${1}\u2028\u2029", "\u202eesrever", "\u200bzero\u0000nul", "שלום \U0001f600"]
SHOWN = NAMES[:3] + ["quote\"'`${1}‹U+2028›‹U+2029›", "‹U+202E›esrever", "‹U+200B›zero‹U+0000›nul", NAMES[6]]
FIGURES = """(() => {
    const {profile} = sampleProfile, names = {};
    profile.functions.name.forEach((name, i) => {
        const known = names[name] ??= [0, 0, 0];
        [profile.functions.total[i], profile.functions.self[i], profile.functions.samples[i]]
            .forEach((value, column) => known[column] += value);
    });
    return {root: profile.total[0], names};
})()"""
# The functions' totals once more, from the nodes: what the graph shows must agree with the table.
NODE_TOTALS = """(() => {
    const {profile} = sampleProfile, totals = new Array(profile.functions.count).fill(0), until = totals.slice();
    for (let i = 1; i < profile.count; ++i) {
        const id = profile.functionOf[i] - 1;
        if (id >= 0 && i >= until[id]) {
            totals[id] += profile.total[i];
            until[id] = profile.end[i];
        }
    }
    return totals.every((total, i) => total === profile.functions.total[i]);
})()"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Pages(unittest.TestCase):
    """One browser and one recording for all."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sample-html-")
        cls.recording = os.path.join(cls.folder.name, "threads.utrace")
        run(SAMPLE, "--freq", "2k", "--quiet", "-o", cls.recording, "--", os.path.join(TARGETS, "threads"), "2", "0.2")
        cls.browser = Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def export(self, source, *options):
        path = os.path.join(self.folder.name, "page.html")
        run(SAMPLE, "export", "--format", "html", "--force", "-o", path, *options, source)
        return path

    def open(self, path, width=1200):
        page = self.browser.open("file://" + path, width, 900)
        page.wait_for("window.sampleProfile !== undefined || !document.getElementById('problem').hidden")
        return page

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def assert_figures(self, page, report, unit, divisor):
        figures = page.evaluate(FIGURES)
        self.assertEqual(figures["root"] // divisor, report["total_" + unit])
        expected = {}
        for function in report["functions"]:
            expected.setdefault(function["name"], []).append(
                [function[key] for key in ("total_" + unit, "self_" + unit, "samples")])
        shown = {name: [total // divisor, self_ // divisor, samples]
                 for name, (total, self_, samples) in figures["names"].items()}
        self.assertEqual(set(shown), set(expected))
        # Where functions share a name, each of them was floored: a sum of those is not compared.
        alone = {name: figures[0] for name, figures in expected.items() if len(figures) == 1}
        self.assertEqual({name: shown[name] for name in alone}, alone)
        self.assertTrue(page.evaluate(NODE_TOTALS))
        self.assertEqual(page.errors + page.warnings, [])
        self.assertEqual(page.evaluate("performance.getEntriesByType('resource').length"), 0)

    def report(self, file, *options):
        return json.loads(run(SAMPLE, "report", "--view", "functions", "--json", *options, file))

    def text(self, page, identity):
        return page.evaluate(f"document.getElementById('{identity}').innerText")

    def press(self, page, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", {"type": kind, "key": key, "windowsVirtualKeyCode": code})

    def test_shows_the_reports_figures(self):
        page = self.open(self.export(self.recording))
        self.assert_figures(page, self.report(self.recording), "us", 1000)
        self.assertIn("0 samples lost", self.text(page, "truth"))
        self.assertIn("of CPU time", self.text(page, "summary"))
        self.assertIn("worker_main", self.text(page, "functions"))

    def test_shows_counts_of_an_event(self):
        recording = os.path.join(self.folder.name, "faults.utrace")
        run(SAMPLE, "--event", "page-faults", "--quiet", "-o", recording, "--",
            os.path.join(TARGETS, "faults"), "touch", "500")
        page = self.open(self.export(recording))
        report = self.report(recording)
        self.assertEqual(report["unit"], "page-faults")
        self.assert_figures(page, report, "count", 1)
        self.assertIn("page-faults · ", self.text(page, "summary"))
        self.assertNotIn(" ms", self.text(page, "details") + self.text(page, "functions"))

    def test_says_that_it_is_scaled(self):
        page = self.open(self.export(self.recording, "--average", "1m"))
        self.assertRegex(self.text(page, "truth"), "×[0-9.]+ scaled")
        self.assertEqual(page.errors, [])

    def test_no_name_is_markup(self):
        functions = [{"Name": name, "TotalDuration": 1000 + i, "Source": name, "Line": 1} for i, name in enumerate(NAMES)]
        nodes = [{"TotalDuration": sum(f["TotalDuration"] for f in functions),
                  "FunctionIds": list(range(1, len(NAMES) + 1)), "NodeIds": list(range(2, len(NAMES) + 2))}]
        nodes += [{"TotalDuration": f["TotalDuration"]} for f in functions]
        source = self.write("hostile.json", json.dumps({
            "Version": 2, "SessionStartTime": 0, "SessionEndTime": 9,
            "Categories": [{"Name": NAMES[0], "NodeId": 1}], "Nodes": nodes, "Functions": functions}))
        page = self.open(self.export(source))
        page.settle()
        self.assertEqual(page.evaluate("window.hacked ?? null"), None)
        self.assertEqual(page.evaluate("document.querySelectorAll('script, img').length"), 1)
        shown = page.evaluate("[...document.querySelectorAll('td.name')].map(cell => cell.textContent)")
        self.assertEqual(sorted(shown), sorted(SHOWN))
        page.evaluate("sampleProfile.graph.zoomTo(2)")
        self.assertIn(SHOWN[-1], self.text(page, "details"))
        self.assertEqual(page.errors, [])

    def test_names_are_short_and_whole_on_hover(self):
        whole = "std::map<int, std::vector<char> >::find(int const&)"
        short = "std::map‹…›::find"
        page = self.open(self.export(self.write("long.folded", f"main;{whole} 1\n")))
        self.assertEqual(page.evaluate("sampleProfile.profile.label(3)"), short)
        cell = "[...document.querySelectorAll('td.name')].find(cell => cell.title.startsWith('std::map'))"
        self.assertEqual(page.evaluate(f"[{cell}.textContent, {cell}.title]"), [short, whole])
        x, y = page.evaluate("(() => {const {left, top} = document.getElementById('graph').getBoundingClientRect();"
                             "return [left + 40, top + 3.5 * ROW]})()")
        page.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        self.assertTrue(self.text(page, "tooltip").startswith(whole))
        for text in ("vector<char>", "map‹…›"):
            self.assertEqual(page.evaluate(f"sampleProfile.profile.search('{text}').functions.join()"), "0,1")
        self.assertEqual(page.errors, [])

    def test_keys_zoom_and_reset(self):
        page = self.open(self.export(self.recording))
        page.evaluate("document.getElementById('graph').focus()")
        self.press(page, "Home", 36)
        self.assertTrue(self.text(page, "details").startswith("all\n"))
        names = []
        for _ in range(3):
            self.press(page, "ArrowDown", 40)
            names.append(self.text(page, "details").split("\n")[0])
        self.assertEqual(names, page.evaluate(
            "[1, 2, 3].map(node => sampleProfile.profile.label(node, sampleProfile.profile.functions.name))"))
        self.press(page, "ArrowUp", 38)
        self.assertTrue(self.text(page, "details").startswith(names[1] + "\n"))
        self.press(page, "Enter", 13)
        self.assertEqual(page.evaluate("sampleProfile.graph.zoom"), 2)
        self.assertFalse(page.evaluate("document.getElementById('reset').disabled"))
        self.press(page, "Escape", 27)
        self.assertEqual(page.evaluate("sampleProfile.graph.zoom"), 0)
        self.assertTrue(page.evaluate("document.getElementById('reset').disabled"))

    def test_hovers_and_clicks(self):
        page = self.open(self.export(self.recording))
        x, y = page.evaluate("(() => {const {left, top} = document.getElementById('graph').getBoundingClientRect();"
                             "return [left + 40, top + 2.5 * ROW]})()")
        page.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        label = page.evaluate("sampleProfile.profile.label(2, sampleProfile.profile.functions.name)")
        self.assertTrue(self.text(page, "tooltip").startswith(label))
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})
        self.assertEqual(page.evaluate("sampleProfile.graph.zoom"), 2)

    def test_search_counts_each_stack_once(self):
        page = self.open(self.export(self.recording))
        page.evaluate("document.getElementById('graph').focus()")
        self.press(page, "/", 191)
        self.assertEqual(page.evaluate("document.activeElement.id"), "search")
        page.call("Input.insertText", {"text": "WORKER"})  # worker_main, and its category
        matched = self.text(page, "matched")
        # Only paths to and from matches: what the command's own search leaves.
        left = self.open(self.export(self.recording, "--search", "worker")).evaluate("sampleProfile.profile.total[0]")
        report = self.report(self.recording)
        self.assertLess(left // 1000, report["total_us"])
        self.assertIn(self.milliseconds(left // 1000), matched)
        page.evaluate("document.querySelector('td.name button').click()")
        name = page.evaluate("document.querySelector('tr.marked td.name').title")
        total_us = sum(f["total_us"] for f in report["functions"] if f["name"] == name)
        self.assertIn(self.milliseconds(total_us), self.text(page, "matched"))

    def test_shares_of_large_weights_are_exact(self):
        page = self.open(self.export(self.write("large.folded", "main;work 14411518807589\n")))
        self.assertEqual(page.evaluate("sampleProfile.profile.percent(14411518807589)"), "100.00 %")

    def open_many_functions(self):
        lines = [f"main;function{i:03} {1000 - i}\n" for i in range(150)]
        return self.open(self.export(self.write("many.folded", "".join(lines))))

    def test_keeps_the_keyboards_focus(self):
        page = self.open_many_functions()
        page.evaluate("document.querySelectorAll('td.name button')[7].focus()")
        for _ in range(2):  # Marked, and no more.
            page.evaluate("document.activeElement.click()")
            self.assertEqual(page.evaluate("document.activeElement.textContent"), "function007")
        page.evaluate("(() => {const more = document.getElementById('more'); more.focus(); more.click()})()")
        self.assertEqual(page.evaluate("document.activeElement.textContent"), "function100")
        page.evaluate("sampleProfile.graph.zoomTo(2)")
        page.evaluate("(() => {const reset = document.getElementById('reset'); reset.focus(); reset.click()})()")
        self.assertEqual(page.evaluate("document.activeElement.id"), "graph")

    def test_a_function_that_was_searched_stays_in_the_table(self):
        page = self.open_many_functions()
        page.evaluate("document.getElementById('search').focus()")
        page.call("Input.insertText", {"text": "function149"})
        page.evaluate("document.querySelector('td.name button').focus()")
        page.evaluate("document.activeElement.click()")
        self.assertEqual(page.evaluate("document.querySelector('tr.marked td.name').textContent"), "function149")
        self.assertEqual(page.evaluate("document.activeElement.textContent"), "function149")

    @staticmethod
    def milliseconds(us):
        return f"{us // 1000:,}.{us % 1000:03} ms"

    def test_fits_a_narrow_window(self):
        page = self.open(self.export(self.recording), width=360)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 360)

    def test_says_when_its_data_is_damaged(self):
        with open(self.export(self.recording), encoding="utf-8") as file:
            text = file.read()
        begin = text.index('<script id="data"')
        end = text.index("</script>", begin)
        for damaged in (text[:end - 400] + text[end:], text[:end - 400] + "\n!\n" + text[end:]):
            page = self.open(self.write("damaged.html", damaged))
            self.assertIn("cannot show its data", self.text(page, "problem"))
            self.assertTrue(page.errors)

    def test_may_not_ask_the_network(self):
        page = self.open(self.export(self.recording))
        with self.assertRaises(BrowserError):
            page.evaluate("fetch('file:///etc/hostname')")
        self.assertIn("Content Security Policy", " ".join(page.errors))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    SAMPLE, TARGETS = sys.argv[1:3]
    try:
        find_chromium()
    except BrowserError as error:
        print(f"SKIP_{error}")
        sys.exit(77)
    os.environ["SAMPLE_CACHE"] = "off"
    unittest.main(argv=[sys.argv[0], "--verbose", *sys.argv[3:]])

"""Opens pages in a headless Chromium and asks them questions, over its debugging pipe.

No library and no port: Chromium reads commands from descriptor 3 and answers on 4, as JSON that ends in a
zero byte. Each browser has a profile folder of its own, which goes with it. Everything that a page
complains about is kept in Page.errors: console.error, failed assertions, exceptions nobody caught,
resources that could not be loaded, and messages to be confirmed. Warnings are in Page.warnings.

Source: the Chrome DevTools Protocol 1.3; chromium --remote-debugging-pipe.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = [
    "--headless=new",
    "--no-sandbox",  # root, and containers without user namespaces
    "--disable-dev-shm-usage",  # /dev/shm may be small or missing
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--use-angle=swiftshader",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--password-store=basic",
    "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # what is checked must not need a network
    "--remote-debugging-pipe",
]


class BrowserError(Exception):
    """Chromium ended, did not answer in time, or an expression threw."""


def find_chromium():
    """The browser's path. CHROMIUM names another one."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    raise BrowserError("there is no chromium: install it with scripts/install-packages")


class Browser:
    """A running Chromium; a context manager, which ends it. `timeout_s` bounds each answer."""

    def __init__(self, timeout_s=300):
        self.timeout_s = timeout_s
        self._last_id = 0
        self._pending = b""
        self._listeners = []
        self._folder = tempfile.mkdtemp(prefix="sample-chromium-")
        self._log = open(os.path.join(self._folder, "log"), "wb")
        command_read, self._commands = os.pipe()
        self._answers, answer_write = os.pipe()

        def in_child():
            # Both ends may lie on the numbers that Chromium wants: move them away first.
            read, write = os.dup(command_read), os.dup(answer_write)
            while read <= 4:
                read = os.dup(read)
            while write <= 4:
                write = os.dup(write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        environment = dict(os.environ, HOME=self._folder)
        self._process = subprocess.Popen(
            [find_chromium(), f"--user-data-dir={self._folder}/profile", *FLAGS, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=environment,
            close_fds=False, preexec_fn=in_child, start_new_session=True)
        os.close(command_read)
        os.close(answer_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, parameters=None, session=None):
        """Sends a command and returns its result; events that come before it go to the listeners."""
        command = self.send(method, parameters, session)
        deadline = time.monotonic() + self.timeout_s
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == command:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]
            self._tell(answer)

    def send(self, method, parameters=None, session=None):
        """Sends a command whose answer nobody waits for; its number."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data):]
        return self._last_id

    def open(self, url, width=1600, height=1200):
        """A new page that shows `url`, loaded."""
        return Page(self, url, width, height)

    def listen(self, listener):
        self._listeners.append(listener)

    def pump(self, seconds):
        """Takes the events that come within this time."""
        deadline = time.monotonic() + seconds
        while self._has_message() or self._readable(deadline):
            self._tell(self._receive(deadline + self.timeout_s, "an event"))

    def _tell(self, event):
        for listener in self._listeners:
            listener(event)

    def _has_message(self):
        return b"\0" in self._pending

    def _readable(self, deadline):
        left = max(0, deadline - time.monotonic())
        return bool(select.select([self._answers], [], [], left)[0])

    def _receive(self, deadline, waiting_for):
        parts = [self._pending]
        while b"\0" not in parts[-1]:
            if not self._readable(deadline):
                raise BrowserError(f"no answer to {waiting_for} in {self.timeout_s} s{self._last_words()}")
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise BrowserError(f"chromium ended while {waiting_for} was under way{self._last_words()}")
            parts.append(data)
        message, self._pending = b"".join(parts).split(b"\0", 1)
        return json.loads(message)

    def _last_words(self):
        with open(os.path.join(self._folder, "log"), "rb") as log:
            text = log.read()[-2000:].decode(errors="replace")
        return f"; it said:\n{text}" if text else ""


class Page:
    """One page, and all that it complained about since it was opened."""

    def __init__(self, browser, url, width, height):
        self.errors = []
        self.warnings = []
        self.messages = []  # Everything on its console.
        self._browser = browser
        self._is_loaded = False
        self._target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = browser.call("Target.attachToTarget", {
            "targetId": self._target, "flatten": True})["sessionId"]
        browser.listen(self._on_event)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        result = self.call("Page.navigate", {"url": url})
        if result.get("errorText"):
            raise BrowserError(f"{url}: {result['errorText']}")
        deadline = time.monotonic() + browser.timeout_s
        while not self._is_loaded:
            if time.monotonic() > deadline:
                raise BrowserError(f"{url} is not loaded after {browser.timeout_s} s")
            browser.pump(0.02)

    def call(self, method, parameters=None):
        return self._browser.call(method, parameters, self._session)

    def evaluate(self, expression):
        """The value of a JavaScript expression, or of the promise that it is; plain data."""
        result = self.call("Runtime.evaluate", {
            "expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression[:200]}: {describe(result['exceptionDetails'])}")
        return result["result"].get("value")

    def wait_for(self, expression, or_else=lambda: False):
        """Waits until the expression, or what or_else() returns, is true. Raises BrowserError, with the
        page's errors, if neither becomes so."""
        deadline = time.monotonic() + self._browser.timeout_s
        while not self.evaluate(expression) and not or_else():
            if time.monotonic() > deadline:
                raise BrowserError(f"never true: {expression}; errors of the page: {self.errors}")
            self._browser.pump(0.02)

    def choose_file(self, selector, path):
        """Gives a file to an <input type=file>, as if a user had chosen it."""
        handle = self.call("Runtime.evaluate", {"expression": f"document.querySelector({json.dumps(selector)})"})
        self.call("DOM.setFileInputFiles", {
            "files": [os.path.abspath(path)], "objectId": handle["result"]["objectId"]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def settle(self, seconds=0.2):
        """Takes what the page may still say."""
        self._browser.pump(seconds)

    def close(self):
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def _on_event(self, event):
        if event.get("sessionId") != self._session:
            return
        method, facts = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._is_loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(facts["message"])  # The page stands still until somebody has read it.
            self._browser.send("Page.handleJavaScriptDialog", {"accept": False}, self._session)
        elif method == "Runtime.exceptionThrown":
            self.errors.append(describe(facts["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            words = " ".join(str(word.get("value", word.get("description", ""))) for word in facts["args"])
            self.messages.append(words)
            if facts["type"] in ("error", "assert"):
                self.errors.append(words)
            elif facts["type"] == "warning":
                self.warnings.append(words)
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            entry = facts["entry"]
            text = f"{entry['text']} {entry.get('url', '')}".strip()
            (self.errors if entry["level"] == "error" else self.warnings).append(text)


def describe(details):
    """What an exception says."""
    return details.get("exception", {}).get("description") or details.get("text", "an exception")

"""Chromium without a window, driven over its DevTools pipe: pages are opened, typed into, clicked and looked at."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

LIMIT_S = 30
STOP_LIMIT_S = 10
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "about:blank",
)
# Chromium reads commands from descriptor 3 and answers on 4; ours may be any, 3 and 4 among them.
LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(read, 3); os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium():
    """Find the browser; without one the tests fail and say what to do."""
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise AssertionError(
        "no chromium found: run scripts/servers, or (Debian, as root) apt-get install chromium"
    )


class Browser:
    """``with Browser(folder) as browser: page = browser.open(url)``; ``folder`` keeps its profile."""

    def __init__(self, folder):
        self._folder = folder
        self._last_id = 0
        self._unread = b""
        self.events = []

    def __enter__(self):
        program = find_chromium()
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        profile = f"--user-data-dir={self._folder}"
        self._log = (self._folder / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(commands), str(answers), program, profile, *FLAGS],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        os.close(commands)
        os.close(answers)
        try:
            self.ask("Browser.getVersion")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close", limit_s=STOP_LIMIT_S)
            self._process.wait(STOP_LIMIT_S)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._log.close()

    def open(self, url):
        """Open a page and wait until it is there."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            page.ask(f"{domain}.enable")
        page.go(url)
        return page

    def ask(self, method, *, session=None, limit_s=LIMIT_S, **params):
        """Send a command and give its answer; events that come meanwhile are kept."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + limit_s
        while True:
            found = self._next(ends, method)
            if found.get("id") == self._last_id:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]
            if "method" in found:
                self.events.append(found)

    def _next(self, ends, what):
        while b"\0" not in self._unread:
            left = ends - time.monotonic()
            assert left > 0, f"chromium did not answer {what} in time"
            if select.select([self._answers], [], [], left)[0]:
                piece = os.read(self._answers, 1 << 20)
                assert piece, f"chromium ended: see {self._log.name}"
                self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


class Page:
    """A tab."""

    def __init__(self, browser, session, target):
        self._browser = browser
        self._session = session
        self._target = target

    def front(self):
        """Make it the tab that is looked at; the others are hidden then."""
        self.ask("Page.bringToFront")

    def close(self):
        self._browser.ask("Target.closeTarget", targetId=self._target)

    def ask(self, method, **params):
        return self._browser.ask(method, session=self._session, **params)

    def go(self, url):
        """Go to an address and wait until the page is there."""
        self.ask("Page.navigate", url=url)
        self.wait(f"location.href !== 'about:blank' && document.readyState === 'complete' /* {url[:80]!r} */")

    def run(self, script):
        """Give the value of a piece of JavaScript."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition, limit_s=LIMIT_S):
        """Wait until a piece of JavaScript gives something true, and give that."""
        ends = time.monotonic() + limit_s
        while True:
            try:
                found = self.run(condition)
            except AssertionError as problem:  # the page is changing right now
                found, why = None, problem
            else:
                why = None
            if found:
                return found
            assert time.monotonic() < ends, f"waited {limit_s} s for {condition}: {why or self.text()[:2000]}"
            time.sleep(0.05)

    def text(self):
        """Give what can be read on the page."""
        return self.run("document.body.innerText")

    def type(self, selector, text):
        """Type into a field."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.ask("Input.insertText", text=text)

    def click(self, selector):
        """Click on what is there, at its place on the screen."""
        where = self.run(
            f"(() => {{const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView();"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1
            )

    def screenshot(self, path, *, dark=False, width=1280, height=900):
        """Write a picture of the whole page."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def complaints(self):
        """Give what the browser's console said as an error or a warning: exceptions, blocked scripts."""
        self.run("1")
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session
            and (
                event["method"] == "Runtime.exceptionThrown"
                or (
                    event["method"] == "Log.entryAdded"
                    and event["params"]["entry"]["level"] in ("error", "warning")
                )
            )
        ]

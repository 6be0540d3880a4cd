"""A headless Chromium driven through a pair of pipes: the DevTools protocol, and nothing but the standard library.

At the end stands what tests ask of a page.
"""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# the protocol is spoken through descriptors 3 and 4; both are moved out of the way first
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60.0
"""Seconds to wait for the browser before it counts as stuck."""
REPORT_IS_READY = "document.documentElement?.dataset?.ready === 'yes'"


PROGRAM = next((found for found in map(shutil.which, NAMES) if found), None)
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium here: apt-get install chromium")
if PROGRAM is None and os.environ.get("QUORATE_BROWSER") == "required":
    raise RuntimeError("QUORATE_BROWSER=required, and no Chromium was found; apt-get install chromium")


class Browser:
    """One browser with a fresh profile; pages are opened in it."""

    def __init__(self, program: str) -> None:
        self.profile = tempfile.mkdtemp(prefix="quorate-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        ends = (to_browser, from_browser)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, ends), program, *FLAGS, f"--user-data-dir={self.profile}"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._waiting = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._message(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def listen(self, seconds: float) -> None:
        """Take in the events of the next moments."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self._message(end)
            except TimeoutError:
                return

    def _message(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._waiting:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError(f"the browser has gone (status {self.process.poll()})")
            self._waiting += part
        line, _, self._waiting = self._waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "id" not in message:
            self.events.append(message)
        return message

    def open(
        self,
        path: Path | str,
        *,
        width: int = 1200,
        height: int = 900,
        dark: bool = False,
        ready: str = REPORT_IS_READY,
    ) -> Page:
        """Open a file or an address, and wait until an expression in the page is true."""
        return Page(self, path if isinstance(path, str) else path.resolve().as_uri(), width, height, dark, ready)

    def close(self) -> None:
        try:
            self.call("Browser.close")
        except (RuntimeError, TimeoutError, OSError):
            self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One page of its own, and what it complained about and asked the network for."""

    def __init__(self, browser: Browser, address: str, width: int, height: int, dark: bool, ready: str) -> None:
        self.browser, self.address = browser, address
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer(dark=dark)
        self.go(address, ready)

    def go(self, address: str, ready: str) -> None:
        """Open another page in the same place."""
        self.address = address
        self.call("Page.navigate", url=address)
        self.until(ready)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, *, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, code: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{code}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never became true: {condition}; the page says {self.complaints()}")
            time.sleep(0.02)

    def press(self, key: str, *, code: int, text: str = "", shift: bool = False) -> None:
        shared = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **shared, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def point(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        """Move the mouse over a part of an element."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
                       " return [b.x, b.y, b.width, b.height]; })()")  # fmt: skip
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + x * box[2], y=box[1] + y * box[3])

    def screenshot(self, *, whole: bool = False) -> bytes:
        if not whole:
            return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def _events(self, *methods: str) -> list[dict[str, Any]]:
        return [
            e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] in methods
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions nobody caught."""
        told = self._events("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(entry)[:500] for entry in told]

    def requests(self) -> list[str]:
        """Addresses asked for, the page itself and data of its own left out."""
        asked = [entry["request"]["url"] for entry in self._events("Network.requestWillBeSent")]
        return [url for url in asked if url != self.address and not url.startswith(("data:", "blob:"))]

    def failures(self) -> list[str]:
        """Addresses that could not be fetched, and why."""
        asked = {entry["requestId"]: entry["request"]["url"] for entry in self._events("Network.requestWillBeSent")}
        failed = [
            f"{asked.get(entry['requestId'])}: {entry['errorText']}"
            for entry in self._events("Network.loadingFailed")
            if not entry.get("canceled")
        ]
        answers = [entry["response"] for entry in self._events("Network.responseReceived")]
        return failed + [f"{answer['url']}: {answer['status']}" for answer in answers if answer["status"] >= 400]

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


def text(page: Page, selector: str) -> str:
    found: str = page.run(f"document.querySelector({selector!r}).textContent")
    return found


def pixels(png: bytes) -> Any:
    from matplotlib.image import imread

    return imread(io.BytesIO(png))


def canvas(page: Page, chart: str) -> str:
    """The picture of a chart as text, once it has come to rest."""
    page.run(f"document.getElementById({chart!r}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
    page.until(f"document.querySelectorAll('#{chart} canvas').length > 0")
    code = f"[...document.querySelectorAll('#{chart} canvas')].map(c => c.toDataURL()).join()"
    before, now = "", page.run(code)
    while now != before:
        page.browser.listen(0.15)
        before, now = now, page.run(code)
    return before


def downloaded(page: Page, folder: Path) -> bytes:
    folder.mkdir()
    page.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
    page.run("document.getElementById('download').click()")
    done = "Browser.downloadProgress"
    for _ in range(200):
        page.browser.listen(0.05)
        states = [event["params"]["state"] for event in page.browser.events if event["method"] == done]
        if states and states[-1] == "completed":
            page.browser.events[:] = [event for event in page.browser.events if event["method"] != done]
            return next(folder.iterdir()).read_bytes()
    raise TimeoutError("nothing was downloaded")

"""A headless Chromium, driven through its debugging port: the visible page, input, requests."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.waiting import HANGS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", "about:blank")

CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
         "ArrowDown": 40}  # fmt: skip
"""Codes of keys that the browser itself handles too, besides passing them to the page."""


LOCAL = ("file:", "data:", "blob:", "about:")


SWIPED = "for (const end of ['touchend', 'touchcancel']) addEventListener(end, () => setTimeout(done), { once: true });"
"""A script that calls ``done`` when the listeners of the page have run."""


class Page:
    """A page of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, loop: asyncio.AbstractEventLoop) -> None:
        self._socket, self._loop, self._number = socket, loop, 0
        self.complaints: list[str] = []
        """The messages on the console: errors, warnings, exceptions."""
        self.requests: list[str] = []
        """The addresses that were requested, besides the page's own."""
        self._frames: list[str] = []
        """The ids of frames in processes of their own, such as sandboxed ones."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the debugging protocol, and return its result."""
        return self._loop.run_until_complete(asyncio.wait_for(self._send(method, parameters), HANGS))

    async def _send(self, method: str, parameters: dict[str, Any], frame: str = "") -> dict[str, Any]:
        self._number += 1
        to = {"sessionId": frame} if frame else {}
        await self._socket.send_str(json.dumps({"id": self._number, "method": method, "params": parameters, **to}))
        async for message in self._socket:
            told = json.loads(message.data)
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)
        raise AssertionError("the browser is gone")

    def _note(self, told: dict[str, Any]) -> None:
        what, facts = told.get("method", ""), told.get("params", {})
        if what == "Target.attachedToTarget":
            self._frames.append(facts["sessionId"])
        elif what == "Runtime.exceptionThrown":
            self.complaints.append(str(facts["exceptionDetails"]))
        elif what == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(facts["entry"]))
        elif what == "Runtime.consoleAPICalled":
            self.complaints.append(str(facts["args"]))
        elif what == "Network.requestWillBeSent" and not facts["request"]["url"].startswith(
            ("file:", "data:", "blob:")
        ):
            self.requests.append(facts["request"]["url"])

    def open(self, address: str) -> None:
        """Load a page and wait until it shows the first step."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        until = time.monotonic() + HANGS
        while not self.evaluate("document.documentElement?.dataset.opened"):
            assert time.monotonic() < until, self.complaints
            time.sleep(0.02)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page. Wait for a promise."""
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def in_frame(self, expression: str) -> Any:
        """Return the value of an expression in the page's first sandboxed frame, once that exists."""
        if not self._frames:
            self.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        until = time.monotonic() + HANGS
        while not self._frames:
            assert time.monotonic() < until, "there is no frame"
            self.evaluate("0")
        asked = self._send("Runtime.evaluate", {"expression": expression, "returnByValue": True}, self._frames[0])
        return self._loop.run_until_complete(asyncio.wait_for(asked, HANGS))["result"].get("value")

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))

    def keys(self, *keys: str) -> None:
        """Press keys one after the other, by their names in a browser."""
        for key in keys:
            facts: dict[str, Any] = {"key": key, "modifiers": 8 if key.isupper() and len(key) == 1 else 0}
            if len(key) == 1:
                facts["text"] = key
            if key in CODES:
                facts["windowsVirtualKeyCode"] = CODES[key]
            if key == "Enter":
                facts["text"] = "\r"
            self.send("Input.dispatchKeyEvent", type="keyDown", **facts)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text: str) -> None:
        """Type into the field that has the focus."""
        self.send("Input.insertText", text=text)

    def size(self, width: int, height: int, touch: bool = False) -> None:
        """Set the size of the window, that of a phone with ``touch``."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.send("Emulation.setTouchEmulationEnabled", enabled=touch)

    def scheme(self, name: str, medium: str = "") -> None:
        """Set the reader's color scheme, ``dark`` or ``light``. ``medium`` is ``print`` for a layout on paper."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.send("Emulation.setEmulatedMedia", media=medium, features=features)

    def swipe(self, begin: tuple[int, int], end: tuple[int, int]) -> None:
        """Move a finger from one point to another; wait until the page has seen that it is gone."""
        self.evaluate(f"globalThis.swiped = new Promise((done) => {{ {SWIPED} }}); null")
        for kind, points in (("touchStart", [begin]), ("touchMove", [end]), ("touchEnd", [])):
            self.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])
        self.evaluate("swiped.then(() => null)")

    def picture(self, path: Path | str) -> None:
        """Write the visible page as a PNG."""
        Path(path).write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def paper(self) -> bytes:
        """Return the printed page as a PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])


@contextmanager
def browser() -> Iterator[Page]:
    """Start a browser, yield a page of it, and end it."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, *FLAGS[:-1], f"--user-data-dir={folder}", FLAGS[-1]]
        program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        loop = asyncio.new_event_loop()
        try:
            port = _port(program)
            yield from _page(loop, port)
        finally:
            loop.close()
            program.terminate()
            program.wait(HANGS)
            if program.stderr is not None:
                program.stderr.close()


def _port(program: subprocess.Popen[str]) -> int:
    """Return the port on which the browser listens, read from its output."""
    assert program.stderr is not None
    for line in program.stderr:
        if "DevTools listening on" in line:
            return int(line.split("127.0.0.1:")[1].split("/")[0])
    raise AssertionError("the browser does not begin")


def _page(loop: asyncio.AbstractEventLoop, port: int) -> Iterator[Page]:
    session = loop.run_until_complete(_session())
    try:
        socket = loop.run_until_complete(_socket(session, port))
        yield Page(socket, loop)
    finally:
        loop.run_until_complete(session.close())
        loop.run_until_complete(asyncio.sleep(0))


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _socket(session: aiohttp.ClientSession, port: int) -> aiohttp.ClientWebSocketResponse:
    async with session.get(f"http://127.0.0.1:{port}/json") as answer:
        pages = [each for each in await answer.json() if each["type"] == "page"]
    return await session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)

"""A served classroom in a test: ``dispatchviz serve`` as a process, and the messages of a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.cli.command import ROOT
from tests.waiting import HANGS

CODES = re.compile(rb"\x1b(\[[0-9;?>$]*[a-zA-Z]|\][^\x07]*\x07|[=>78])")
"""The codes that paint the screen, without its text."""


class Classroom:
    """The server process."""

    def __init__(self, *words: str | Path, cwd: Path) -> None:
        self.folder = cwd
        temporary = cwd / "temporary"
        temporary.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "dispatchviz", "serve", "--port", "0", *map(str, words)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
        self.program = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said = ""
        while "Ctrl+C" not in self.said:
            assert self.program.stdout is not None
            line = self.program.stdout.readline()
            assert line, self.said
            self.said += line
        found = re.search(r"(http://127\.0\.0\.1:(\d+)/)(\S+)/", self.said)
        assert found is not None
        self.root, self.port, self.token = found[1], int(found[2]), found[3]
        self.address = f"{self.root}{self.token}/"

    def sessions(self) -> list[Path]:
        """Return the folders of the sessions."""
        return sorted((self.folder / "temporary").glob("dispatchviz-session-*"))

    def processes(self) -> list[int]:
        """Return the processes of the sessions."""
        found = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = (map(int, line.split()) for line in found.splitlines())
        return [pid for pid, parent in pairs if parent == self.program.pid]

    def end(self) -> int:
        """Send Ctrl+C and return the exit status."""
        self.program.send_signal(signal.SIGINT)
        status = self.program.wait(HANGS)
        assert self.program.stdout is not None
        self.said += self.program.stdout.read()
        self.program.stdout.close()
        return status

    def close(self) -> None:
        if self.program.poll() is None:
            self.end()


class Browser:
    """The browser's end of a session."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.seen = ""
        self.raw = b""

    async def type(self, *texts: str) -> None:
        for text in texts:
            await self.socket.send_str(json.dumps(["stdin", text]))

    async def wait_for(self, text: str) -> None:
        """Read until a new occurrence of a text has come. The end of the session before that is an error."""
        while text not in self.seen:
            await self._read(text)
            self.seen = " ".join(CODES.sub(b"", self.raw).decode("utf-8", "replace").split())
        self.raw, self.seen = b"", self.seen.partition(text)[2]

    async def wait_for_bytes(self, code: bytes) -> None:
        """Read until these bytes have come."""
        while code not in self.raw:
            await self._read(repr(code))
        self.raw, self.seen = self.raw.partition(code)[2], ""

    async def _read(self, wanted: str) -> None:
        try:
            message = await self.socket.receive(HANGS)
        except TimeoutError:
            raise AssertionError(f"{wanted} does not come: {self.seen[-2000:]}") from None
        assert message.type is aiohttp.WSMsgType.BINARY, (wanted, message, self.seen[-2000:])
        self.raw += message.data

    async def ended(self) -> None:
        """Read until the session has ended."""
        while (await self.socket.receive(HANGS)).type is aiohttp.WSMsgType.BINARY:
            pass


@asynccontextmanager
async def browser(classroom: Classroom, width: int = 160, height: int = 45) -> AsyncIterator[Browser]:
    """Open the page in a browser."""
    address = f"{classroom.address}ws?width={width}&height={height}"
    async with aiohttp.ClientSession() as client, client.ws_connect(address) as socket:
        yield Browser(socket)


def is_there(process: int) -> bool:
    """Return whether a process is running."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder with their contents."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

"""The server of a classroom: a page, its files and a session for each browser that knows the token.

Rule 1: the gate comes first. A path that does not begin with the token is answered with 403. All such answers are the
same, so they do not reveal which paths exist.
Rule 2: nothing is fetched from elsewhere. The page names only files of this server, and makes the browser refuse all
others.
Rule 3: no page from elsewhere gets in, even if it has the token (``names.py``).
Rule 4: a browser names no file. It asks for one of a fixed set.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.serving.connection import MOST_CONNECTIONS, Connection, Refusals, Refused
from dispatchviz.serving.names import is_own_page, may_be_asked, names_of_this_machine
from dispatchviz.serving.terminal_process import TerminalProcess

STATIC = Path(textual_serve.__file__).parent / "static"
"""The files of textual-serve: the terminal for browsers, its style and its font."""

HERE = Path(__file__).parent

PAGE = Template((HERE / "page.html").read_text("utf-8"))

RULES = "Content-Security-Policy"

FETCHED = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src {sessions}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The rules for what a browser may fetch. ``sessions`` are the addresses of the websocket, or none."""

HEADERS = {
    "Server": "dispatchviz",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    RULES: FETCHED.format(sessions="'none'"),
}
"""The headers of every answer."""

MOST_SESSIONS = 64
"""The most browsers at once; each has a process."""

LONGEST_MESSAGE = 1 << 16
"""The most bytes of one message from a browser."""

FONT_SIZES = range(8, 41)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ClassroomServer:
    """A server of sessions. ``command`` returns the command line for a session by its number, counted from 1.

    ``names`` are names of the server besides this machine's own, such as that of a proxy.
    """

    def __init__(self, command: Callable[[int], Sequence[str]], names: Sequence[str] = (), token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(16)
        self._command = command
        self._names = tuple(names)
        self._hosts = (*names_of_this_machine(), *names)
        self._refusals = Refusals()
        self._strangers: dict[Any, None] = {}
        """Connections that have not shown the token, the oldest first."""
        self._begun = 0
        self._places = asyncio.Semaphore(MOST_SESSIONS)
        self._sessions: dict[TerminalProcess, web.WebSocketResponse] = {}

    async def serve(self, host: str, port: int, announce: Callable[[int], None]) -> None:
        """Serve until a signal ends it; call ``announce`` with the port. Raise DispatchvizError if the port is not
        free.
        """
        async with self.listening(host, port) as bound:
            announce(bound)
            await _signalled()

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve while the block runs; yield the port. Raise DispatchvizError if the port is not free."""
        runner = web.AppRunner(self.application(), shutdown_timeout=1)
        await runner.setup()
        assert runner.server is not None
        try:
            server = await asyncio.get_running_loop().create_server(partial(self._connected, runner.server), host, port)
        except OSError as error:
            await runner.cleanup()
            reason = os.strerror(error.errno) if error.errno else error
            raise DispatchvizError(f"cannot serve at {host}, port {port}: {reason}; --port N takes another") from None
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            await runner.cleanup()

    def _connected(self, server: web.Server) -> asyncio.Protocol:
        """Accept a connection. If there are too many, close the oldest one without the token, or refuse this one."""
        if len(server.connections) >= MOST_CONNECTIONS:
            if not self._strangers:
                self._refusals.refused(f"there are {MOST_CONNECTIONS} connections; more are refused")
                return Refused()
            self._refusals.refused(f"there are {MOST_CONNECTIONS} connections; the oldest without the token is closed")
            oldest = next(iter(self._strangers))
            self._no_stranger(oldest)
            oldest.close_now()
        made = Connection(server, self._refusals, HEADERS, self._no_stranger)
        self._strangers[made] = None
        return made

    def _no_stranger(self, connection: object) -> None:
        """Forget a connection that has shown the token or is closed."""
        self._strangers.pop(connection, None)

    def application(self) -> web.Application:
        """Create the application that answers."""
        application = web.Application(middlewares=[self._gate])
        application.add_routes(
            [
                web.get(f"/{self.token}", self._to_page),
                web.get(f"/{self.token}/", self._page),
                web.get(f"/{self.token}/ws", self._session),
                *(web.get(f"/{self.token}/{name}", partial(_sent, file)) for name, file in _files()),
            ]
        )
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._end_all)
        return application

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests without the token. The comparison takes constant time, so timing reveals nothing about the
        token.
        """
        first = request.path.removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self.token.encode()):
            raise web.HTTPForbidden(text="This address has no token: ask for the whole address.\n")
        self._no_stranger(request.protocol)
        host = request.headers.get("Host", "")
        if not may_be_asked(host, self._hosts):
            self._refusals.refused(f"a browser asks for {host!r}: if that is this server, add --name {host}")
            raise web.HTTPForbidden(text="This server has another name.\n")
        return await handler(request)

    async def _to_page(self, request: web.Request) -> web.Response:
        """Redirect an address without its last slash."""
        raise web.HTTPFound(f"/{self.token}/")

    async def _page(self, request: web.Request) -> web.Response:
        size = request.query.get("fontsize", "")
        font = size if size.isdecimal() and len(size) < 3 and int(size) in FONT_SIZES else "16"
        hosts = dict.fromkeys((request.headers["Host"], *self._names))
        sessions = " ".join(f"{scheme}://{host}/{self.token}/ws" for host in hosts for scheme in ("ws", "wss"))
        return web.Response(
            text=PAGE.substitute(font=font),
            content_type="text/html",
            headers={RULES: FETCHED.format(sessions=sessions)},
        )

    async def _session(self, request: web.Request) -> web.StreamResponse:
        origin = request.headers.get("Origin")  # only browsers send it
        if origin is not None and not is_own_page(origin, request.headers["Host"], self._names):
            self._refusals.refused(f"a page of {origin!r} asked for a session and was refused")
            raise web.HTTPForbidden(text="A page from elsewhere cannot open a session.\n")
        if self._places.locked():
            raise web.HTTPServiceUnavailable(text=f"There are {MOST_SESSIONS} sessions already.\n")
        async with self._places:
            return await self._begin(request)

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=LONGEST_MESSAGE)
        await socket.prepare(request)
        self._begun += 1
        size = _number(request.query.get("width"), 80), _number(request.query.get("height"), 24)
        try:
            process = await TerminalProcess.begin(self._command(self._begun), os.environ, size)
        except OSError:  # no terminal or no process is left
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
            return socket
        self._sessions[process] = socket
        painting = asyncio.create_task(_paint(process, socket))
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT or not await _heard(process, socket, message.data):
                    break
        finally:
            painting.cancel()
            del self._sessions[process]
            await asyncio.shield(process.end())
            with suppress(ConnectionError):
                await socket.close()
        return socket

    async def _end_all(self, application: web.Application) -> None:
        """End every session before the server ends."""
        sessions = dict(self._sessions)
        await asyncio.gather(*(process.end() for process in sessions), return_exceptions=True)
        await asyncio.gather(*(socket.close() for socket in sessions.values()), return_exceptions=True)


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the files that the page needs, by name."""
    yield "page.js", HERE / "page.js"
    for file in STATIC.rglob("*"):
        if file.is_file():
            yield f"static/{file.relative_to(STATIC).as_posix()}", file


async def _sent(file: Path, request: web.Request) -> web.FileResponse:
    return web.FileResponse(file)


async def _paint(process: TerminalProcess, socket: web.WebSocketResponse) -> None:
    """Send the process's output to the browser; close the session when the process ends."""
    with suppress(ConnectionError):
        async for painted in process.output():
            await socket.send_bytes(painted)
        await socket.close()


async def _heard(process: TerminalProcess, socket: web.WebSocketResponse, text: str) -> bool:
    """Carry out a message from the browser; return False for one that our page never sends."""
    match _message(text):
        case ["stdin", str(typed)]:
            await process.type(typed.encode("utf-8", "replace"))
        case ["resize", {"width": int(width), "height": int(height)}]:
            process.resize(width, height)
        case ["ping", str(sent)]:
            await socket.send_json(["pong", sent])
        case ["focus" | "blur", *_]:
            pass
        case _:
            return False
    return True


def _message(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 5 else otherwise


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    own_rules = {RULES: response.headers[RULES]} if RULES in response.headers else {}
    response.headers.update(HEADERS | own_rules)


async def _signalled() -> None:
    """Wait for Ctrl+C, or another signal that ends a process."""
    ends, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        loop.add_signal_handler(number, ends.set)
    await ends.wait()

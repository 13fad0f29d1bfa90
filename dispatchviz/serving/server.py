"""The server of a room: a page, its files and a session for each browser, for who knows the token and nobody else.

Rule 1: the gate comes first. Whatever does not begin with the token is answered with 403, alike for all paths, so what
there is cannot be told from what there is not.
Rule 2: nothing is fetched from elsewhere. The page names files of this server alone, and tells the browser to refuse
all others.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import secrets
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web

from dispatchviz.errors import DispatchvizError
from dispatchviz.serving.terminal_process import TerminalProcess

STATIC = Path(textual_serve.__file__).parent / "static"
"""The terminal for browsers, its style and its font: textual-serve's files."""

HERE = Path(__file__).parent

PAGE = Template((HERE / "page.html").read_text("utf-8"))

HEADERS = {
    "Server": "dispatchviz",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws: wss:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
}
"""With every answer. ``ws:`` since not every browser takes ``self`` for a websocket."""

MOST_SESSIONS = 64
"""Browsers at once; each has a process."""

LONGEST_MESSAGE = 1 << 16
"""Bytes of one message of a browser."""

FONT_SIZES = range(8, 41)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RoomServer:
    """Serves sessions until it is ended. ``command`` makes the command line of the session of a number, from 1."""

    def __init__(self, command: Callable[[int], Sequence[str]], token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(16)
        self._command = command
        self._begun = 0
        self._sessions: dict[TerminalProcess, web.WebSocketResponse] = {}

    async def serve(self, host: str, port: int, told: Callable[[int], None]) -> None:
        """Serves until a signal ends it; ``told`` is called with the port. DispatchvizError if that is not free."""
        runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            told(runner.addresses[0][1])
            await _signalled()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            raise DispatchvizError(f"cannot serve at {host}, port {port}: {reason}; --port N takes another") from None
        finally:
            await runner.cleanup()

    def application(self) -> web.Application:
        """What answers."""
        application = web.Application(middlewares=[self._gate])
        application.add_routes(
            [
                web.get(f"/{self.token}", self._to_page),
                web.get(f"/{self.token}/", self._page),
                web.get(f"/{self.token}/page.js", self._script),
                web.get(f"/{self.token}/ws", self._session),
                web.static(f"/{self.token}/static", STATIC),
            ]
        )
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._end_all)
        return application

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Nothing without the token. Compared in constant time, so no timing tells how much of a guess is right."""
        first = request.path.removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            raise web.HTTPForbidden(text="This address lacks its token: ask for the whole address.\n")
        return await handler(request)

    async def _to_page(self, request: web.Request) -> web.Response:
        """The address without its last stroke."""
        raise web.HTTPFound(f"/{self.token}/")

    async def _script(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(HERE / "page.js")

    async def _page(self, request: web.Request) -> web.Response:
        scheme = "wss" if request.secure else "ws"
        size = request.query.get("fontsize", "")
        font = size if size.isdecimal() and len(size) < 3 and int(size) in FONT_SIZES else "16"
        address = html.escape(f"{scheme}://{request.host}/{self.token}/ws")
        return web.Response(text=PAGE.substitute(websocket=address, font=font), content_type="text/html")

    async def _session(self, request: web.Request) -> web.StreamResponse:
        if len(self._sessions) >= MOST_SESSIONS:
            raise web.HTTPServiceUnavailable(text=f"There are {MOST_SESSIONS} sessions already.\n")
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=LONGEST_MESSAGE)
        await socket.prepare(request)
        self._begun += 1
        size = _number(request.query.get("width"), 80), _number(request.query.get("height"), 24)
        try:
            process = await TerminalProcess.begin(self._command(self._begun), os.environ, size)
        except OSError:  # there is no terminal, or no process, left
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
        """Every session ends before the server does."""
        sessions = dict(self._sessions)
        await asyncio.gather(*(process.end() for process in sessions), return_exceptions=True)
        await asyncio.gather(*(socket.close() for socket in sessions.values()), return_exceptions=True)


async def _paint(process: TerminalProcess, socket: web.WebSocketResponse) -> None:
    """What the process paints, to the browser; where it has ended the session has, too."""
    with suppress(ConnectionError):
        async for painted in process.output():
            await socket.send_bytes(painted)
        await socket.close()


async def _heard(process: TerminalProcess, socket: web.WebSocketResponse, text: str) -> bool:
    """Does what a message of the browser says; False for one that no page of ours sends."""
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
    response.headers.update(HEADERS)


async def _signalled() -> None:
    """Waits for Ctrl+C, or another signal that ends a process."""
    ends, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ends.set)
    await ends.wait()

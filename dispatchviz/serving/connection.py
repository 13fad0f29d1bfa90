"""A browser's connection: its time limits, the limit on connections, and the answer to malformed requests.

aiohttp on its own would print a traceback for each malformed request, and wait an hour for the rest of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import web

from dispatchviz.foundation.terminal_output import complain

SILENCE = 10.0
"""Seconds until a request must be complete, and until the next one must have come."""

MOST_CONNECTIONS = 256
"""The most connections at once. A browser opens six for its page and keeps one for its session."""

MOST_LINES = 20
"""The most lines about refused requests, so that a stranger cannot fill the terminal."""


LONGEST_LINE = 200
"""The most characters of a line about a refused request."""


class Refusals:
    """Reports of refused requests: one line each, once for each reason and address."""

    def __init__(self, say: Callable[[str], None] = complain) -> None:
        self._say = say
        self._said: set[str] = set()

    def refused(self, line: str) -> None:
        """Report a refusal, unless it was reported before."""
        line = line[:LONGEST_LINE]
        if line in self._said or len(self._said) > MOST_LINES:
            return
        self._said.add(line)
        self._say(line if len(self._said) <= MOST_LINES else "more requests were refused; they are no longer reported")


class Connection(web.RequestHandler):
    """A connection that answers a malformed request without details, and reports it to the teacher in one line."""

    __slots__ = ("_headers", "_lost", "_refusals")

    def __init__(
        self, manager: web.Server, refusals: Refusals, headers: Mapping[str, str], lost: Callable[[Connection], None]
    ) -> None:
        """``lost`` is called with the connection when it is closed."""
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=SILENCE,
            lingering_time=SILENCE,
        )
        self._refusals, self._headers, self._lost = refusals, headers, lost

    def connection_lost(self, exc: BaseException | None) -> None:
        """Report that either end has closed the connection."""
        super().connection_lost(exc)
        self._lost(self)

    def close_now(self) -> None:
        """Close the connection, even if data has not been sent."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a failed request. An error in our own code is logged as aiohttp logs it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._refusals.refused(f"a malformed request from {request.remote} was refused")
        answer = web.Response(
            status=status, text="This is not a request that a browser sends.\n", headers=self._headers
        )
        answer.force_close()
        return answer


class Refused(asyncio.Protocol):
    """A connection beyond the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """End it at once."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()

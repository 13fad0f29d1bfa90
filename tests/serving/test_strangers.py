"""The server of a classroom and its attackers: pages from elsewhere, rebound names, endless or malformed requests. All
go to it through real sockets.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

pytest.importorskip("textual_serve", reason="pip install 'dispatchviz[serve]'")
if sys.platform == "win32":
    pytest.skip("Windows has no such terminals", allow_module_level=True)

import aiohttp

from dispatchviz.serving import connection, server
from dispatchviz.serving.connection import MOST_LINES, Refusals
from dispatchviz.serving.names import is_name, is_own_page, may_be_asked
from dispatchviz.serving.server import ClassroomServer
from tests.cli.command import dispatchviz
from tests.waiting import HANGS

EVIL = "http://evil.example"


class Here:
    """A server in this process, whose sessions run ``cat``."""

    def __init__(self, classroom: ClassroomServer, port: int, said: list[str]) -> None:
        self.port, self.token, self.said = port, classroom.token, said
        self.own = f"127.0.0.1:{port}"
        self.address = f"http://{self.own}/{self.token}/"

    async def raw(self, data: bytes) -> bytes:
        """Send bytes and read until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            return await asyncio.wait_for(reader.read(), HANGS)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    async def opens(self, **headers: str) -> int:
        """Open a websocket and return the status."""
        async with aiohttp.ClientSession() as client:
            try:
                async with client.ws_connect(f"{self.address}ws", headers=headers):
                    return 101
            except aiohttp.WSServerHandshakeError as refused:
                return refused.status


@asynccontextmanager
async def served(*names: str) -> AsyncIterator[Here]:
    classroom = ClassroomServer(lambda number: ["cat"], names)
    said: list[str] = []
    classroom._refusals = Refusals(said.append)
    async with asyncio.timeout(HANGS), classroom.listening("127.0.0.1", 0) as port:
        yield Here(classroom, port, said)


async def test_a_page_from_elsewhere_opens_no_session_even_with_the_token() -> None:
    async with served() as here:
        for origin in (EVIL, "null", f"http://127.0.0.1:{here.port + 1}", f"{EVIL}/{here.own}", f"file://{here.own}"):
            assert await here.opens(Origin=origin) == 403, origin
        assert await here.opens(Origin=f"http://{here.own}") == 101
        assert await here.opens(Origin=f"http://localhost:{here.port}", Host=f"localhost:{here.port}") == 101
        assert await here.opens(Origin=f"https://{here.own}") == 101  # a proxy with TLS before it
        assert await here.opens() == 101  # no browser
        assert here.said[0] == f"a page of '{EVIL}' asked for a session and was refused"


async def test_foreign_name_is_refused() -> None:
    async with served() as here:
        async with aiohttp.ClientSession() as client:
            for path in ("", "page.js", "ws", "static/js/textual.js"):
                async with client.get(here.address + path, headers={"Host": "evil.example"}) as answer:
                    assert (answer.status, await answer.text()) == (403, "This server has another name.\n")
        assert await here.opens(Host="evil.example", Origin=EVIL) == 403
        assert here.said == ["a browser asks for 'evil.example': if that is this server, add --name evil.example"]


async def test_name_of_a_proxy_is_accepted() -> None:
    async with served("class.example.org") as here:
        assert await here.opens(Host="class.example.org", Origin="https://class.example.org") == 101
        assert await here.opens(Origin="https://class.example.org") == 101  # the proxy asks for 127.0.0.1
        assert await here.opens(Origin="https://class.example.org:81") == 403


@pytest.mark.parametrize(("host", "may"), [
    ("127.0.0.1:8000", True),
    ("192.0.2.7", True),
    ("[::1]:8000", True),
    ("LOCALHOST:9000", True),
    ("class.example.org:1", True),
    ("class.example.org.evil.example", False),
    ("127.0.0.1.evil.example", False),
    ("evil.example", False),
    ("localhost@evil.example", False),
    ("localhost:80:80", False),
    ("localhost/../evil.example", False),
    ("", False),
])  # fmt: skip
def test_server_answers_to_its_own_names(host: str, may: bool) -> None:
    assert may_be_asked(host, ("localhost", "class.example.org:8443")) == may


def test_names_cannot_add_rules_to_the_policy() -> None:
    """Names become a part of the page's Content-Security-Policy."""
    assert is_name("class.example.org:8443")
    for bad in ("*", "a b", "a;b", "a,b", "http://a", "a/b", "a\n", "", "a:b", "*.example.org", "ä"):
        assert not is_name(bad), bad
        assert not is_own_page(f"http://{bad}", "localhost:8000", ())
    ended = dispatchviz("serve", "--name", "http://a")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("dispatchviz: --name takes a host such as class.example.org")


async def test_the_page_may_connect_to_its_own_sessions_alone() -> None:
    async with served() as here:
        async with aiohttp.ClientSession() as client:
            async with client.get(here.address) as answer:
                rules = answer.headers["Content-Security-Policy"].split("; ")
                page = await answer.text()
            async with client.get(f"{here.address}page.js") as answer:
                script = answer.headers
        own = f"{here.own}/{here.token}/ws"
        assert f"connect-src ws://{own} wss://{own}" in rules
        assert here.own not in page
        assert "connect-src 'none'" in script["Content-Security-Policy"]
        for answer_headers in (answer.headers, script):
            assert answer_headers["Referrer-Policy"] == "no-referrer"
            assert answer_headers["Cache-Control"] == "no-store"
            assert answer_headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("sent", [
    b"",
    b"GET",
    b"GET / HTTP/1.1\r\nHost: a\r\nX-Half",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",  # the next request does not come
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
])  # fmt: skip
async def test_a_connection_that_falls_silent_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.1)
    async with served() as here:
        await here.raw(sent)
        assert here.said == []


async def test_a_request_that_comes_in_drops_has_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.2)
    async with served() as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        closed = asyncio.create_task(reader.read())
        while not closed.done():
            writer.write(b"x")
            await asyncio.sleep(0.02)
        writer.close()


MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHo st: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET http://[x/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
]


async def test_malformed_requests_are_one_line_without_details(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as here:
        for sent in MALFORMED:
            answer = await here.raw(sent)
            assert answer.startswith(b"HTTP/1.0 400 "), sent
            assert answer.endswith(b"\r\n\r\nThis is not a request that a browser sends.\n")
            assert b"aiohttp" not in answer
        assert here.said == ["a malformed request from 127.0.0.1 was refused"]
    assert caplog.records == []


async def test_random_bytes_with_the_token_leave_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    chosen = random.Random(36)
    async with served() as here:
        paths = ["", "ws", "static/", "static/%00", "static/" + "a" * 5000, "%2e%2e/", "page.js/x", "\udcff"]
        for path in paths:
            head = f"GET /{here.token}/{path} HTTP/1.1\r\nHost: {here.own}\r\nConnection: close\r\n"
            await here.raw(head.encode("utf-8", "surrogateescape") + b"\r\n")
            noise = "".join(chosen.choice("aZ:; %\x00\r\n/*é") for _ in range(60))
            await here.raw(f"{head}{noise}\r\n\r\n".encode("utf-8", "surrogateescape"))
        assert await here.opens() == 101
    assert [record.message for record in caplog.records] == []


def test_strangers_cannot_fill_the_terminal() -> None:
    said: list[str] = []
    refusals = Refusals(said.append)
    for number in range(1000):
        refusals.refused(f"page {number} asked " + "x" * 10000)
    assert len(said) == MOST_LINES + 1
    assert said[-1] == "more requests were refused; they are no longer reported"
    assert max(map(len, said)) < 250


async def test_sessions_started_at_once_respect_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_SESSIONS", 3)
    async with served() as here, aiohttp.ClientSession() as client:
        asked = [client.ws_connect(f"{here.address}ws") for _ in range(9)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        sockets = [each for each in answers if not isinstance(each, BaseException)]
        refused = [each.status for each in answers if isinstance(each, aiohttp.WSServerHandshakeError)]
        assert (len(sockets), refused) == (3, [503] * 6)
        for socket in sockets:
            await socket.close()
        while await here.opens() != 101:  # their places are free again
            await asyncio.sleep(0.01)


async def test_connections_respect_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 4)
    async with served() as here:
        async with aiohttp.ClientSession() as client:
            sockets = [await client.ws_connect(f"{here.address}ws") for _ in range(4)]
            assert await here.raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") == b""
            assert here.said == ["there are 4 connections; more are refused"]
            for socket in sockets:
                await socket.close()
        while not await here.raw(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n"):
            await asyncio.sleep(0.01)


async def test_connections_without_the_token_do_not_lock_out_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 4)
    async with served() as here:
        lines = [await asyncio.open_connection("127.0.0.1", here.port) for _ in range(20)]
        for _, writer in lines[::2]:
            writer.write(b"GET / HTTP/1.1\r\nHost:")
        assert await here.opens() == 101
        for reader, _ in lines[:16]:
            with suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), HANGS) == b""
        assert here.said == ["there are 4 connections; the oldest without the token is closed"]
        for _, writer in lines:
            writer.close()


@pytest.mark.parametrize("sent", ["x" * 70000, b"\xff" * 10, "\x00"])
async def test_unreadable_message_ends_the_session_quietly(sent: str | bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with served() as here:
        async with aiohttp.ClientSession() as client, client.ws_connect(f"{here.address}ws") as socket:
            await (socket.send_str(sent) if isinstance(sent, str) else socket.send_bytes(sent))
            while (await socket.receive(HANGS)).type is aiohttp.WSMsgType.BINARY:
                pass
        assert here.said == []
    assert caplog.records == []

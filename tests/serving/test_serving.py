"""``dispatchviz serve``: nothing without the token, nothing but the offer, and sessions that end with their
browsers.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.cli.command import ROOT, dispatchviz, refused

pytest.importorskip("textual_serve", reason="pip install 'dispatchviz[serve]'")
if sys.platform == "win32":
    pytest.skip("Windows has no such terminals", allow_module_level=True)

import aiohttp

from dispatchviz.cli.serve_command import _AnswerFiles

from .classroom import Browser, Classroom, browser, files_in, is_there

pytestmark = pytest.mark.long

SECRET = "what nobody offered"
HOME = "Enter opens a lesson"

ESC = "\x1b[27u"
"""The Esc key, in the form that a terminal can distinguish from the beginning of another key."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A teacher's folder with a script, a trace, and files that are not offered."""
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(ROOT / "examples" / "no_grad.py", tmp_path / "offered.py")
    (tmp_path / "secret.py").write_text(f"print({SECRET!r})\n")
    (tmp_path / "error.txt").write_text(
        f"{SECRET}: Could not run 'aten::add.out' with arguments from the 'QuantizedCPU' backend.\n"
    )
    done = dispatchviz("export", ROOT / "examples" / "forum.py", "-o", tmp_path / "kept.dvtrace")
    assert done.status == 0, done.err
    return tmp_path


@pytest.fixture
def classroom(folder: Path) -> Iterator[Classroom]:
    served = Classroom("forum", "offered.py", "kept.dvtrace", cwd=folder)
    yield served
    served.close()


@asynccontextmanager
async def played(classroom: Classroom, width: int = 160, height: int = 45) -> AsyncIterator[Browser]:
    """Open the home screen in a browser."""
    async with browser(classroom, width, height) as opened:
        await opened.wait_for(HOME)
        yield opened


async def asked(classroom: Classroom, *paths: str, method: str = "GET") -> list[tuple[int, str]]:
    """Return statuses and bodies of paths of the server."""
    async with aiohttp.ClientSession() as client:
        found = []
        for path in paths:
            async with client.request(method, classroom.root.rstrip("/") + path, allow_redirects=False) as answer:
                found.append((answer.status, await answer.text("utf-8", "replace")))
        return found


# -- the gate ---------------------------------------------------------------------------------------------------------


async def test_address_without_the_token_is_refused(classroom: Classroom) -> None:
    wrong = classroom.token[:-1] + ("A" if classroom.token[-1] != "A" else "B")
    inner = ("", "/", "/ws", "/page.js", "/static/js/textual.js", "/static/css/xterm.css", "/no/such/path")
    paths = [
        f"{first}{path}" or "/" for first in ("", f"/{wrong}", f"/{classroom.token}x", "/%00", "/ä") for path in inner
    ]
    for method in ("GET", "POST"):
        answers = await asked(classroom, *paths, "/?token=" + classroom.token, "/static/../" + "..", method=method)
        assert {status for status, _ in answers} == {403}
        assert {text for _, text in answers} == {"This address has no token: ask for the whole address.\n"}
    assert classroom.sessions() == []
    assert classroom.processes() == []


async def test_no_websocket_opens_without_the_token(classroom: Classroom) -> None:
    async with aiohttp.ClientSession() as client:
        for path in ("ws", "wrong/ws", f"{classroom.token}x/ws"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(f"{classroom.root}{path}?width=80&height=24")
            assert refused.value.status == 403
    assert classroom.processes() == []


async def test_page_and_its_policy_allow_only_files_of_the_server(
    classroom: Classroom,
) -> None:
    (status, page), (script_status, _), (font, _) = await asked(
        classroom,
        *(f"/{classroom.token}/{path}" for path in ("", "page.js", "static/fonts/RobotoMono-VariableFont_wght.ttf")),
    )
    assert (status, script_status, font) == (200, 200, 200)
    assert re.findall(r"[a-z]+://[^\"' ]*", page) == []
    for named in re.findall(r'(?:href|src)="((?:static|page)[^"]*)"', page):
        assert (await asked(classroom, f"/{classroom.token}/{named}"))[0][0] == 200
    async with aiohttp.ClientSession() as client, client.get(classroom.address) as answer:
        rules = answer.headers["Content-Security-Policy"]
    assert rules.startswith("default-src 'none'; script-src 'self';")
    assert "http" not in rules


def test_files_beside_those_of_the_page_are_not_served(classroom: Classroom) -> None:
    for path in ("%2e%2e/server.py", "..%2fserver.py", "js/../../server.py", "/etc/passwd", "", "js"):
        status, text = raw(classroom, f"/{classroom.token}/static/{path}")
        assert status in (403, 404), path
        assert "import" not in text


def raw(classroom: Classroom, path: str) -> tuple[int, str]:
    """Request a path as it is, because clients normalize it."""
    with socket.create_connection(("127.0.0.1", classroom.port)) as line:
        line.sendall(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(65536), b"")).decode("utf-8", "replace")
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


def test_it_listens_on_the_loopback_address_alone(classroom: Classroom) -> None:
    ports = subprocess.run(
        ["cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True, check=False
    ).stdout
    listening = re.findall(rf"\d+: (\w+):{classroom.port:04X} \w+:0000 0A", ports)
    assert listening in ([], ["0100007F"])  # none where there is no such file
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", classroom.port), 1):
        pass


# -- what a session may do --------------------------------------------------------------------------------------------


async def test_session_lists_and_opens_the_offer(classroom: Classroom) -> None:
    async with played(classroom) as reader:
        await reader.type("\r")
        await reader.wait_for("continues")
        await reader.type("q")
        await reader.wait_for("Enter")
        await reader.type("n\r")
        await reader.wait_for("Steps")
        await reader.type("q")
        await reader.wait_for("Enter")
        await reader.type("n\r")
        await reader.wait_for("forum.py")
        await reader.type("q")
        await reader.wait_for("Enter")


async def test_no_key_and_no_word_of_a_reader_leads_to_other_files(classroom: Classroom, folder: Path) -> None:
    before = files_in(folder)
    async with played(classroom) as reader:
        await reader.type("o", "\x1a", "w", "--error error.txt\r")  # at home o asks for a file
        await reader.wait_for("--error names a file, and files cannot be opened here")
        assert SECRET not in reader.seen
        await reader.type(ESC, "c", "add --structured -o classes.svg\r")
        await reader.wait_for("-o names a file, and files cannot be opened here")
        await reader.type(ESC, "g", "n", "\r")
        await reader.wait_for("Steps")
        await reader.type("m", "a mark\r", "p", ESC, "3", "L", "W", ESC, "o", "y", "\x1a", ":2\r")
        await reader.wait_for("step 2 of")
        await reader.type("q")
        await reader.wait_for("Enter")
        now = files_in(folder)
        assert {path: text for path, text in now.items() if "temporary" not in path} == before


async def test_a_small_window_opens_no_pager(classroom: Classroom) -> None:
    """A pager could start a shell."""
    async with played(classroom) as reader:
        await reader.socket.send_json(["resize", {"width": 40, "height": 10}])
        await reader.wait_for("needs")
        await reader.type("n\r")
        await reader.wait_for_bytes(b"\x1b[?1049l")  # the home screen goes
        await reader.wait_for_bytes(b"\x1b[?1049h")  # and is there again
        await reader.socket.send_json(["resize", {"width": 160, "height": 45}])
        await reader.wait_for("cannot be shown: the terminal is 40x10")


async def test_a_program_that_is_offered_writes_in_the_folder_of_its_session_alone(folder: Path) -> None:
    (folder / "writes.py").write_text(
        "import subprocess, sys, tempfile, torch\n"
        "breakpoint()\n"
        "with tempfile.TemporaryFile() as file:\n"
        "    file.write(b'here')\n"
        "for what in (lambda: open('written.txt', 'w'), lambda: subprocess.run(['true'])):\n"
        "    try:\n"
        "        what()\n"
        "    except PermissionError as error:\n"
        "        print('refused:', error)\n"
        "torch.ones(2) + 1\n"
    )
    with closing(Classroom("writes.py", cwd=folder)) as classroom:
        async with played(classroom) as reader:
            await reader.type("\r")
            await reader.wait_for("refused: a served session writes no files")
            await reader.wait_for("refused: a served session starts no other program")
            await reader.wait_for("Steps")
        assert not (folder / "written.txt").exists()


# -- how sessions end -------------------------------------------------------------------------------------------------


async def gone(process: int) -> None:
    while is_there(process):
        await asyncio.sleep(0.02)


async def test_killed_browser_leaves_nine_others_running(classroom: Classroom) -> None:
    async with asyncio.timeout(240), aiohttp.ClientSession() as client:
        address = f"{classroom.address}ws?width=120&height=40"
        readers = [Browser(await client.ws_connect(address)) for _ in range(10)]
        await asyncio.gather(*(reader.wait_for(HOME) for reader in readers))
        processes = classroom.processes()
        assert len(processes) == 10
        first, *others = readers
        first.socket._response.connection.transport.abort()  # without a closing message
        while len(there := classroom.processes()) == 10:
            await asyncio.sleep(0.05)
        (killed,) = set(processes) - set(there)
        await gone(killed)
        os.kill(there[0], 9)  # another session's process fails
        await asyncio.gather(*(goes_on(reader) for reader in others), return_exceptions=True)
        while len(classroom.processes()) > 8:
            await asyncio.sleep(0.05)
        assert sum([not reader.socket.closed for reader in others]) == 8
        for reader in others:
            await reader.socket.close()
        while classroom.sessions():
            await asyncio.sleep(0.05)


async def goes_on(reader: Browser) -> None:
    await reader.type("\r")
    await reader.wait_for("continues")


async def test_endless_program_ends_with_its_browser(folder: Path) -> None:
    (folder / "endless.py").write_text(
        "import signal, torch\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "torch.ones(2)\n"
        "print('begun')\n"
        "while True: pass\n"
    )
    with closing(Classroom("endless.py", cwd=folder)) as classroom:
        async with asyncio.timeout(120):
            async with played(classroom) as reader:
                await reader.type("\r")
                await reader.wait_for("begun")
                (process,) = classroom.processes()
            await gone(process)


async def test_q_on_the_home_screen_ends_the_session(classroom: Classroom) -> None:
    async with played(classroom) as reader:
        await reader.type("q")
        await reader.ended()
    assert classroom.program.poll() is None


async def test_malformed_message_ends_only_its_session(classroom: Classroom) -> None:
    async with played(classroom) as good:
        for bad in ("no json", "[]", '["stdin", 3]', '["resize", {"width": "x"}]', "[" * 5000, '{"a": 1}'):
            async with browser(classroom) as reader:
                await reader.socket.send_str(bad)
                await reader.ended()
        await goes_on(good)


async def test_ctrl_c_ends_everything(classroom: Classroom) -> None:
    async with played(classroom) as one, played(classroom) as other:
        await goes_on(one)
        processes = classroom.processes()
        assert await asyncio.to_thread(classroom.end) == 0
        await asyncio.gather(one.ended(), other.ended())
        assert not any(map(is_there, processes))
    assert classroom.sessions() == []
    assert "Traceback" not in classroom.said
    assert classroom.token not in classroom.said.partition("Ctrl+C")[2]


# -- answers ----------------------------------------------------------------------------------------------------------


async def test_each_session_has_a_file_for_its_answers(folder: Path) -> None:
    (folder / "answers").mkdir()
    (folder / "answers" / "learner-01.json").write_text("not ours\n")
    with closing(Classroom("--answers", "answers", "forum", cwd=folder)) as classroom:
        for said in (
            "You are learner-02: your answers in lessons are kept for your teacher.",
            "You are learner-03",
        ):
            async with browser(classroom) as reader:
                await reader.wait_for(said)
                await goes_on(reader)
                await reader.type("c", "c")
                await reader.wait_for("Which key wins?")
                await reader.type("1")
                await reader.wait_for("continues")
    assert (folder / "answers" / "learner-01.json").read_text() == "not ours\n"
    summed = dispatchviz("lesson", "results", *(folder / "answers" / f"learner-0{n}.json" for n in (2, 3)))
    assert (summed.status, summed.err) == (0, "")
    assert summed.out.startswith("two learners, one question, ")


def test_two_servers_with_one_folder_use_different_files(tmp_path: Path) -> None:
    """Two servers reserve names before any learner has answered."""
    one, other = _AnswerFiles(tmp_path), _AnswerFiles(tmp_path)
    given = [one.next(), other.next(), one.next(), other.next()]
    assert [file.name for file in given] == [f"learner-{number:02}.json" for number in range(1, 5)]
    one.end()
    other.end()
    assert list(tmp_path.iterdir()) == []


# -- what cannot be served --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "said"), [
    (["zzz"], "there is no lesson 'zzz'; the lessons are "),
    (["missing.py"], "there is no file missing.py"),
    (["error.txt"], "error.txt is not a lesson, a .py file or a trace: nothing else can be offered"),
    (["--folder", "home"], "there is no lesson in home"),
    (["--answers", "offered.py"], "cannot keep answers in offered.py: File exists"),
    (["--host", "203.0.113.1"], "cannot serve at 203.0.113.1, port "),
])  # fmt: skip
def test_wrong_offer_is_refused_in_one_line(words: list[str], said: str, folder: Path) -> None:
    assert refused("serve", *words, cwd=folder).startswith(f"dispatchviz: {said}")


def test_taken_port_is_reported(classroom: Classroom, folder: Path) -> None:
    said = f"cannot serve at 127.0.0.1, port {classroom.port}: Address already in use; --port N takes another\n"
    assert refused("serve", "--port", str(classroom.port), cwd=folder) == f"dispatchviz: {said}"

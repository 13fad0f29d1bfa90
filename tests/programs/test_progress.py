"""The line of progress never mixes with the program's own lines, and disappears at the end."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest

from dispatchviz.running.process.progress import ERASED, LIMIT_HINT, Progress
from tests.waiting import HANGS


class _Screen:
    """A terminal with one line that is overwritten, and the lines above it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line = ""

    def write(self, text: str) -> None:
        for part in text.replace(ERASED, "\0").split("\0")[0:1]:
            self.line += part.removesuffix("\r")
        for part in text.replace(ERASED, "\0").split("\0")[1:]:
            self.line = part.removesuffix("\r")

    def print(self, text: str) -> None:
        self.line += text
        *ended, self.line = self.line.split("\n")
        self.lines += ended


def _progress(screen: _Screen) -> Progress:
    counts = iter(range(1000, 2000))
    return Progress(lambda: next(counts), screen.write, patience=0)


def test_progress_line_shows_the_count_and_how_to_stop() -> None:
    screen = _Screen()
    _progress(screen).update()
    assert screen.line == "dispatchviz: 1,000 events, 0 s (Ctrl+C stops the program)"


def test_hint_about_full_speed_is_written_once() -> None:
    screen = _Screen()
    written: list[str] = []
    counts = iter(range(1000, 2000))
    progress = Progress(lambda: next(counts), written.append, patience=0, hint=LIMIT_HINT, hint_patience=0)
    for _ in range(3):
        progress.update()
    assert [text for text in written if LIMIT_HINT in text] == [f"{ERASED}dispatchviz: {LIMIT_HINT}\n"]
    assert "--limit 1000000" in LIMIT_HINT
    for text in written:
        screen.print(text.replace(ERASED, "")) if text.endswith("\n") else screen.write(text)
    assert screen.lines == [f"dispatchviz: {LIMIT_HINT}"]
    assert screen.line.startswith("dispatchviz: 1,002 events")


def test_a_hint_waits_until_the_run_takes_long_and_the_line_is_free() -> None:
    written: list[str] = []
    counts = iter(range(1000, 2000))
    patient = Progress(lambda: next(counts), written.append, patience=0, hint="h", hint_patience=HANGS)
    patient.update()
    busy = Progress(lambda: next(counts), written.append, patience=0, hint="h", hint_patience=0)
    busy.before_writing("name? ")
    busy.update()
    assert not any(text.endswith("h\n") for text in written)


def test_the_lines_of_the_program_stay_whole() -> None:
    screen = _Screen()
    progress = _progress(screen)
    for text in ("one\n", "two", " more\n", "three\n"):
        progress.update()
        progress.before_writing(text)
        screen.print(text)
    progress.update()
    progress.erase()
    assert (screen.lines, screen.line) == (["one", "two more", "three"], "")


def test_an_unfinished_line_of_the_program_is_left_alone() -> None:
    screen = _Screen()
    progress = _progress(screen)
    progress.before_writing("name? ")
    screen.print("name? ")
    progress.update()
    assert screen.line == "name? "


def test_it_is_erased_before_the_program_waits_and_not_shown_while_it_does() -> None:
    screen = _Screen()
    progress = Progress(lambda: 7, screen.write, patience=0)
    progress.update()
    progress.before_writing("")  # as when input() flushes
    progress.update()
    assert screen.line == ""


def test_update_does_not_wait_for_a_writer() -> None:
    screen = io.StringIO()
    progress = Progress(iter(range(1, 9)).__next__, screen.write, patience=0)
    with progress._lock:
        update = threading.Thread(target=progress.update, daemon=True)
        update.start()
        update.join(HANGS)
        assert not update.is_alive()
    assert screen.getvalue() == ""
    progress.update()
    assert "1 events" in screen.getvalue()


def test_short_or_finished_recording_shows_no_progress() -> None:
    screen = _Screen()
    short = Progress(iter(range(9)).__next__, screen.write, patience=3600)
    short.update()
    assert screen.line == ""
    long = _progress(screen)
    long.update()
    long.end()
    long.update()
    assert screen.line == ""


FORKS = """
import os, time
from dispatchviz.running.process import progress

def threads(): return len(os.listdir("/proc/self/task"))

def until(number):
    while threads() != number: time.sleep(0.001)

progress._is_terminal = lambda descriptor: True
with progress.progress_of(lambda: 0):
    until(2)
    child = os.fork()
    if not child: os._exit(0)
    print(threads())
    os.waitpid(child, 0)
until(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_forking_program_has_no_other_thread() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)

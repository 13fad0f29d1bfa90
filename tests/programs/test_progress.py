"""The line of progress never stands among the program's own, and is gone in the end."""

from __future__ import annotations

from dispatchviz.process.progress import ERASED, Progress


class _Screen:
    """A terminal of one line that is overwritten, and the lines above it."""

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
    return Progress(lambda: next(counts), screen.write)


def test_it_says_how_far_the_recording_is_and_how_to_stop_it() -> None:
    screen = _Screen()
    _progress(screen).update()
    assert screen.line == "dispatchviz: 1,000 events, 0 s (Ctrl+C stops the program)"


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
    progress = Progress(lambda: 7, screen.write)
    progress.update()
    progress.before_writing("")  # as when input() flushes
    progress.update()
    assert screen.line == ""

"""Tests of whether the stepper can open here, and of the modules that it loads before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dispatchviz.tui.terminal.support import can_run


class Tty:
    """A stream that is, or is not, a terminal."""

    closed = False

    def __init__(self, terminal: bool = True) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("__stdin__", "__stdout__", "__stderr__"):
        monkeypatch.setattr(sys, name, Tty())
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "15"}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_smallest_terminal_is_accepted(terminal: pytest.MonkeyPatch) -> None:
    assert can_run() is None


@pytest.mark.parametrize("name", ["__stdin__", "__stdout__", "__stderr__"])
@pytest.mark.parametrize("stream", [Tty(False), None])
def test_every_stream_must_be_a_terminal(terminal: pytest.MonkeyPatch, name: str, stream: Tty | None) -> None:
    terminal.setattr(sys, name, stream)
    names = {"__stdin__": "input", "__stdout__": "output", "__stderr__": "error"}
    assert can_run() == f"standard {names[name]} is not a terminal"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_terminal_without_cursor_is_refused(terminal: pytest.MonkeyPatch, term: str) -> None:
    terminal.setenv("TERM", term)
    assert can_run() == f"the terminal cannot move its cursor (TERM={term})"


@pytest.mark.parametrize(("name", "value", "size"), [("COLUMNS", "59", "59x15"), ("LINES", "14", "60x14")])
def test_small_terminal_is_refused(terminal: pytest.MonkeyPatch, name: str, value: str, size: str) -> None:
    terminal.setenv(name, value)
    assert can_run() == f"the terminal is {size}, and the stepper needs at least 60x15"


def test_check_of_terminal_loads_no_textual() -> None:
    code = "import sys, dispatchviz.tui.terminal.support; assert not {'textual', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_opening_loads_no_module_of_later_screens() -> None:
    screens = "'dispatchviz.tui.screens.help_screen', 'dispatchviz.tui.widgets.prompt'"
    room = "dispatchviz.explain"
    facts = f"'dispatchviz.lessons', '{room}.codegen.structured_classes', '{room}.graph.node.node_of_step'"
    later = f"{{'pygments', 'renderdag', 'graphviz', 'numpy', {screens}, {facts}}}"
    code = f"import sys, dispatchviz.tui.app; found = {later} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)

"""The log in a terminal has colors, and a pager if it is longer than the screen; in a pipe it has neither."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dispatchviz.outputs.log.printed_log import LOOKS, print_log
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.running.program import run
from dispatchviz.views.text.console import shows_colors

from .command import FORUM, dispatchviz, script
from .test_terminal import in_terminal

CODES = re.compile(r"\x1b\[[0-9;]+m")

PAGER = """\
import sys
with open("paged", "w") as file:
    for line in sys.stdin:
        file.write(line)
print("the pager is left")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace, and with a pager that keeps its input or, on request, quits at once."""
    run(FORUM).trace.save(tmp_path / "t.dvtrace")
    (tmp_path / "pager.py").write_text(PAGER)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PAGER", f"{sys.executable} {tmp_path / 'pager.py'}")
    return tmp_path


def paged(folder: Path) -> str | None:
    """Return the text that the pager got."""
    return (folder / "paged").read_text() if (folder / "paged").exists() else None


def colored(monkeypatch: pytest.MonkeyPatch, terminal: bool = False, **variables: str) -> bool:
    """Return whether there are colors with these variables."""
    with monkeypatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm")
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
        return shows_colors()


def test_environment_decides_about_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not colored(monkeypatch)
    assert colored(monkeypatch, terminal=True)
    assert not colored(monkeypatch, terminal=True, TERM="dumb")
    assert colored(monkeypatch, FORCE_COLOR="1")
    assert colored(monkeypatch, FORCE_COLOR="0", TERM="dumb"), "whatever its value is"
    assert not colored(monkeypatch, FORCE_COLOR=""), "empty is as if it were not there"
    assert not colored(monkeypatch, terminal=True, NO_COLOR="0")
    assert colored(monkeypatch, terminal=True, NO_COLOR="")
    assert not colored(monkeypatch, terminal=True, NO_COLOR="1", FORCE_COLOR="1")


def test_colors_change_no_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    trace = run(FORUM).trace
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_log(trace)
    text = capsys.readouterr().out
    assert CODES.sub("", text).splitlines() == list(text_log(trace))
    assert "\x1b[36m→\x1b[0m     call aten::add.Tensor" in text
    assert "\x1b[1m>\x1b[0m\x1b[1m line 6  z = torch.add(x, y)\x1b[0m" in text


def test_every_group_has_its_looks() -> None:
    from dispatchviz.explain.kinds.kind import SIGNS

    assert set(LOOKS) == set(SIGNS)


@pytest.mark.long
def test_a_long_log_goes_through_the_pager(folder: Path) -> None:
    for command in (["open", "--plain"], ["trace"], ["run", "--plain"]):
        (folder / "paged").unlink(missing_ok=True)
        status, screen = in_terminal(*command, "t.dvtrace", cwd=folder, keys="")
        assert (status, screen) == (0, "the pager is left\r\n")
        text = paged(folder)
        assert text is not None
        assert CODES.sub("", text).rstrip("\n") == dispatchviz("trace", "t.dvtrace", cwd=folder).out.rstrip("\n")


@pytest.mark.long
def test_a_long_step_goes_through_the_pager(folder: Path) -> None:
    status, screen = in_terminal("open", "--plain", "--step", "150", "t.dvtrace", cwd=folder, keys="")
    assert (status, screen) == (0, "the pager is left\r\n")
    assert "= left      {AutogradCUDA, CUDA} → AutogradCUDA" in CODES.sub("", paged(folder) or "")


@pytest.mark.long
def test_short_log_or_no_pager_option_uses_no_pager(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, screen = in_terminal("open", "--line", "5", "t.dvtrace", cwd=folder, keys="")
    assert status == 0
    assert "\x1b[1m line 5  x.requires_grad_(True)\x1b[0m" in screen
    status, screen = in_terminal("open", "--plain", "--no-pager", "t.dvtrace", cwd=folder, keys="")
    assert "line 7  z.sum().backward()" in screen
    status, screen = in_terminal("run", "--plain", "--no-pager", FORUM, cwd=folder, keys="")
    assert "line 7  z.sum().backward()" in screen
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in in_terminal("open", "--line", "5", "t.dvtrace", cwd=folder, keys="")[1]
    assert dispatchviz("open", "--plain", "t.dvtrace", cwd=folder).status == 0
    assert paged(folder) is None


@pytest.mark.long
def test_a_pager_that_is_left_early_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "head -n 1")
    script(
        folder, "import torch\nfor iteration in range(300):\n    torch.ones(2) + 1\nraise SystemExit(5)\n", "long.py"
    )
    status, screen = in_terminal("run", "--plain", "long.py", cwd=folder, keys="")
    assert status == 5
    assert screen.startswith("long.py on the model of PyTorch ") or "long.py on the model of PyTorch " in screen
    assert "Traceback" not in screen
    assert "line 3" not in screen


@pytest.mark.long
def test_program_output_bypasses_the_pager(folder: Path) -> None:
    script(folder, "import torch\nprint('mine')\nfor iteration in range(30):\n    torch.ones(2)\n", "prints.py")
    status, screen = in_terminal("trace", "prints.py", cwd=folder, keys="")
    assert status == 0
    assert screen.startswith("mine\r\n")
    assert screen.endswith("the pager is left\r\n")
    assert "line 4  torch.ones(2)" in CODES.sub("", paged(folder) or "")


def test_reasons_are_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    trace = run(FORUM).trace
    print_log(trace)
    reasons = [line for line in capsys.readouterr().out.splitlines() if " | " in line]
    assert max(len(line) for line in reasons if line.index("|") < 28) in range(70, 81)

"""``export`` with the options of pictures: the drawn picture, and one clear error for a bad combination."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.outputs.picture.svg import texts
from tests.cli.command import FORUM, Ended, dispatchviz

from .command import refused

ADD = """
import torch
x = torch.ones(2, requires_grad=True)
y = torch.add(x, x)
y.sum().backward()
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "add.py").write_text(ADD, encoding="utf-8")
    path = str(folder / "add.dvtrace")
    assert dispatchviz("export", folder / "add.py", "-o", path) == Ended(0, "", "")
    return path


def written(trace: str, path: Path, *options: str) -> set[str]:
    assert dispatchviz("export", trace, "-o", path, *options) == Ended(0, "", "")
    return set(texts(path.read_text(encoding="utf-8")))


def test_each_picture_is_drawn(trace: str, tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    assert "AddBackward0" in written(trace, path)
    assert "AddBackward0" in written(trace, path, "--picture", "backward", "--cluster", "line", "--detail", "all")
    assert "y = torch.add(x, x)" in written(trace, path, "--picture", "calls")
    assert any(" call aten::ones" in text for text in written(trace, path, "--picture", "decision"))
    assert any("entries hold a kernel" in text for text in written(trace, path, "--picture", "table"))


def test_dark_is_a_theme(trace: str, tmp_path: Path) -> None:
    one, other = tmp_path / "a.svg", tmp_path / "b.svg"
    written(trace, one, "--dark")
    written(trace, other, "--theme", "dark")
    assert one.read_bytes() == other.read_bytes()
    written(trace, other)
    assert one.read_bytes() != other.read_bytes()


def test_step_chooses_the_picture(trace: str, tmp_path: Path) -> None:
    shown = written(trace, tmp_path / "a.svg", "--step", "60")
    assert "as of step 60" in shown
    shown = written(trace, tmp_path / "a.svg", "--steps", "60-100")
    assert {"as of step 100", "Thick line: changed since step 60"} <= shown


@pytest.mark.parametrize(("options", "says"), [
    (("--picture", "decision", "--step", "0"), "nothing to draw: step 0 is in no call of an operator"),
    (("--picture", "classes", "--step", "0"), "nothing to draw: step 0 is about no operator"),
    (("--picture", "calls", "--steps", "0-1"), "nothing to draw: no operator is called at these steps"),
    (("--step", "1"), "has no backward Nodes as of step 1"),
    (("--step", "99999"), "there is no step 99999: the trace has the steps 0 to"),
    (("--steps", "9-3"), "--steps 9-3: give the first and the last step, such as 12-40"),
    (("--steps", "x"), "--steps x: give the first and the last step, such as 12-40"),
    (("--step", "3", "--steps", "1-2"), "--step and --steps: give one of them"),
    (("--dark", "--theme", "light"), "--dark and --theme light contradict each other"),
    (("--picture", "calls", "--detail", "all"), "--detail is for the backward graph, not for --picture calls"),
    (("--picture", "table", "--expand", "x"), "--expand is for the backward graph, not for --picture table"),
])  # fmt: skip
def test_contradicting_options_are_one_error(trace: str, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    assert says in refused("export", trace, "-o", tmp_path / "a.svg", *options)
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(("name", "options", "says"), [
    ("a.png", ("--theme", "auto"), "the theme auto is only for .svg, which a browser draws: choose light or dark"),
    ("a.dot", ("--dark",), "the theme dark is only for .svg and .png: a .dot is always light"),
    ("a.jsonl", ("--picture", "calls"), "--picture is for a picture (.svg, .dot, .png, .pdf), not for a .jsonl"),
])  # fmt: skip
def test_bad_options_are_refused_before_the_program_runs(
    tmp_path: Path, name: str, options: tuple[str, ...], says: str
) -> None:
    started = tmp_path / "started"
    script = tmp_path / "a.py"
    script.write_text(f"open({str(started)!r}, 'w').close()\n", encoding="utf-8")
    assert says in refused("export", script, "-o", tmp_path / name, *options)
    assert not started.exists()


def test_a_table_as_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "table.svg"
    assert dispatchviz("table", "add", "-o", path) == Ended(0, "", "")
    shown = set(texts(path.read_text(encoding="utf-8")))
    assert "cells 96-111: the 16 Autograd keys" in shown
    assert any("Dispatch table of aten::add.Tensor" in text for text in shown)


def test_the_founding_program_as_png(tmp_path: Path) -> None:
    path = tmp_path / "forum.png"
    assert dispatchviz("export", FORUM, "-o", path, "--dark").status == 0
    assert path.read_bytes().startswith(b"\x89PNG")

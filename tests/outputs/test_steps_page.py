"""Hand-outs of steps: the stepper's words in tables, pictures in files beside the page."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.chosen_steps import Steps
from dispatchviz.outputs.format import Request
from dispatchviz.outputs.formats import check_export, format_of
from dispatchviz.outputs.hand_out.format import STEPS_MARK, pictures_folder
from dispatchviz.outputs.hand_out.marks import cell, fenced, plain
from dispatchviz.outputs.log.log_filter import LogFilter, chosen_steps
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.step.step_text import view_text
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.running.program import run
from tests.cli.command import FORUM
from tests.steps import line, step
from tests.tui.programs import forum


def page(folder: Path, wanted: Steps = Steps()) -> str:  # noqa: B008 - a value
    format_of(".md").write(forum(), Request(str(folder / "steps.md"), ".md", steps=wanted))
    return (folder / "steps.md").read_text()


ROW = re.compile(r"\| (\d+) \| (.*) \| (.*) \|")


def rows(text: str) -> dict[int, tuple[str, str]]:
    """Return the texts that the tables give for each step."""
    return {int(found[1]): (found[2], found[3]) for found in map(ROW.fullmatch, text.splitlines()) if found}


def test_each_step_of_the_level_has_a_row_with_its_sentence(tmp_path: Path) -> None:
    found = rows(page(tmp_path))
    lines = set(forum().steps_of(ev.SourceLine))
    assert list(found) == [each for each in chosen_steps(forum(), LogFilter("calls")) if each not in lines]
    for at, (_, why) in found.items():
        assert why == cell(plain(" ".join(why_here(forum(), at).split())))


def test_every_line_of_the_program_is_a_heading(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert text.startswith(f"{STEPS_MARK}\n\n# All steps of ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [f"Line {number}" for number in range(1, 8)]


def test_range_and_level_select_the_steps(tmp_path: Path) -> None:
    first, last = line(forum(), 6), step(forum(), ev.NodeCreated)
    text = page(tmp_path, Steps(f"{first}-{last}", "all"))
    assert list(rows(text)) == list(range(first + 1, last + 1))
    assert f"# Steps {first} to {last} of " in text


def test_pictures_are_beside_it_and_are_of_the_graph_as_it_was(tmp_path: Path) -> None:
    text = page(tmp_path)
    named = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert named
    assert sorted(path.name for path in (tmp_path / "steps_files").iterdir()) == sorted(
        Path(name).name for name in named
    )
    first = (tmp_path / named[0]).read_text()
    assert "AddBackward0" in first
    assert "SumBackward0" not in first, "it is drawn after line 6"


def test_standard_output_has_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    format_of(".md").write(forum(), Request("-", ".md", steps=Steps()))
    written = capsys.readouterr().out
    assert "![" not in written
    assert written.startswith("# All steps of ")


def test_requested_views_follow_each_step(tmp_path: Path) -> None:
    at = step(forum(), ev.KeySetComputed)
    text = page(tmp_path, Steps(str(at), "all", ("key-set", "cell")))
    for view in ("key-set", "cell"):
        assert "\n".join(fenced(view_text(forum(), at, view))) in text


def test_equal_programs_give_equal_bytes(tmp_path: Path) -> None:
    first = page(tmp_path)
    pictures = {path: path.read_bytes() for path in (tmp_path / "steps_files").iterdir()}
    format_of(".md").write(
        run(FORUM, (), io.StringIO()).trace, Request(str(tmp_path / "steps.md"), ".md", steps=Steps())
    )
    assert (tmp_path / "steps.md").read_text() == first
    assert {path: path.read_bytes() for path in (tmp_path / "steps_files").iterdir()} == pictures


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "steps.md"
    mine.write_text("# Mine\n")
    with pytest.raises(DispatchvizError, match="is not a hand-out of steps from dispatchviz: it is not overwritten"):
        check_export(str(mine), ".md")
    mine.unlink()
    Path(pictures_folder(str(mine))).write_text("mine")
    with pytest.raises(DispatchvizError, match="exists and is not a folder"):
        check_export(str(mine), ".md")
    Path(pictures_folder(str(mine))).unlink()
    page(tmp_path)
    check_export(str(mine), ".md")
    picture = next((tmp_path / "steps_files").iterdir())
    picture.write_text("mine")
    with pytest.raises(DispatchvizError, match=r"is not a \.svg picture: it is not overwritten"):
        page(tmp_path)


def test_names_of_a_program_are_no_markup(tmp_path: Path) -> None:
    """Names from a program never act as markup: they end no cell and close no fence."""
    program = tmp_path / "odd.py"
    program.write_text("import torch\nx = torch.ones(2)  # ```\nprint('a|b <b> `c` *d* 🙂')\n")
    trace = run(str(program), (), io.StringIO()).trace
    format_of(".md").write(trace, Request(str(tmp_path / "odd.md"), ".md", steps=Steps(level="all")))
    text = (tmp_path / "odd.md").read_text()
    assert "a\\|b <b> `c` *d* 🙂" in rows(text)[step(trace, ev.Printed)][0]
    assert "````" in text


@pytest.mark.parametrize("wrong", ["x", "5-", "-5", "5-3", "9999"])
def test_invalid_range_is_refused(wrong: str) -> None:
    def checked() -> None:
        wanted = Steps(wrong)
        wanted.check()
        wanted.range(forum())

    with pytest.raises(DispatchvizError, match=f"--steps {wrong}: "):
        checked()


def test_log_of_a_range_has_only_its_steps(tmp_path: Path) -> None:
    format_of(".txt").write(forum(), Request(str(tmp_path / "all.txt"), ".txt", steps=Steps()))
    assert (tmp_path / "all.txt").read_text().splitlines() == list(text_log(without_folders(forum())))
    first, last = line(forum(), 6), step(forum(), ev.NodeCreated)
    format_of(".log").write(forum(), Request(str(tmp_path / "some.log"), ".log", steps=Steps(f"{first}-{last}")))
    numbers = [int(found) for found in re.findall(r"^ *(\d+) ", (tmp_path / "some.log").read_text(), re.MULTILINE)]
    assert numbers[0] == first
    assert numbers[-1] == last

"""The shipped examples: each has a description, and its short name runs it from every folder."""

from __future__ import annotations

import io
from pathlib import Path
from traceback import walk_tb

import pytest

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import Example, alternatives, examples, folder, located
from dispatchviz.running import recording
from dispatchviz.running.call_sites import count_as_users
from dispatchviz.running.process.tracebacks import users_part
from dispatchviz.running.program import run

FORUM = "examples/forum.py"


def test_every_example_has_a_description_in_one_line() -> None:
    files = {path.relative_to(folder()).with_suffix("").as_posix() for path in folder().rglob("*.py")}
    programs = {name for name in files if not name.startswith(("testing/", "library/", "errors/"))}  # listed elsewhere
    assert {example.name for example in examples()} == programs
    assert len(examples()) == len(programs), "each is listed once"
    for example in examples():
        assert example.shows
        assert "\n" not in example.shows
        assert example.shows.count("`") % 2 == 0


def founding() -> Example:
    return next(example for example in examples() if example.name == "forum")


def test_the_founding_program_and_its_lesson_come_first() -> None:
    assert examples()[0].name == "lessons/forum"
    without = [example for example in examples() if example.group != examples()[0].group]
    assert without[0] == founding()
    assert "AutogradCUDA" in examples()[0].shows
    assert "AutogradCUDA" in founding().shows


def test_the_name_of_an_example_runs_it_if_no_file_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert located(FORUM) == str(folder() / "forum.py")
    assert founding().script == FORUM
    outcome = run(FORUM, (), io.StringIO())
    assert outcome.status == 0
    assert outcome.trace.header.program == FORUM


def test_a_file_with_the_name_of_an_example_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / FORUM).write_text("import torch\ntorch.ones(3)\n")
    assert located(FORUM) == FORUM
    assert founding().script == str(folder() / "forum.py"), "home must not run the other one"
    assert run(FORUM, (), io.StringIO()).trace.header.program == FORUM
    assert "torch.ones(3)" in str(run(FORUM, (), io.StringIO()).trace.header.sources)


@pytest.mark.parametrize("script", ["examples/nothing.py", "examples/chains/nothing.py"])
def test_an_unknown_example_is_refused_with_a_list_of_examples(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DispatchvizError) as refused:
        run(script)
    text = str(refused.value)
    assert text.startswith(f"cannot read {script}: No such file or directory; the examples are examples/")
    beside = "examples/chains/vmap.py" if "chains" in script else "examples/vmap.py"
    assert beside in text
    assert ("examples/chains/" in text) is ("chains" in script)


def test_names_of_other_files_are_unchanged() -> None:
    for script in ("examples/../forum.py", "/examples/forum.py", "examples", ""):
        assert located(script) == script
        assert alternatives(script) == ""


def test_the_bare_name_of_an_example_fails_with_a_suggestion() -> None:
    for script in ("forum.py", "forum"):
        assert located(script) == script
        assert alternatives(script) == "; did you mean examples/forum.py?"


@pytest.mark.parametrize("is_the_program", [True, False])
def test_an_error_in_an_installed_example_shows_its_line(is_the_program: bool) -> None:
    """An installation has the examples inside the package, whose own frames are removed from tracebacks."""
    code = compile("\n\n1 / 0", str(Path(recording.__file__).parents[1] / "examples" / "one.py"), "exec")
    if is_the_program:
        count_as_users(code)
    with pytest.raises(ZeroDivisionError) as raised:
        exec(code)
    kept = users_part(raised.value.__traceback__)
    lines = [line for frame, line in walk_tb(kept) if frame.f_code is code]
    assert lines == ([3] if is_the_program else [])

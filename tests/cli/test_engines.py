"""``--engine``: the choice of a command, its errors, and the command to type for a name that the model lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli import chosen_engine
from dispatchviz.cli.typed_command import _left_out
from dispatchviz.running.engine_choice import choice
from dispatchviz.trace import Trace

from .command import dispatchviz, refused, script

NEEDS = "import torch\ntorch.sparse_coo_tensor\n"
LATER = "import sys, torch\ndef f():\n    torch.sparse_coo_tensor\nprint(sys.argv[1:])\nf()\n"
FINE = "import torch\ntorch.ones(2)\n"


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (choice, chosen_engine):
        monkeypatch.setattr(module, "installed_release", lambda: None)


@pytest.mark.parametrize("command", [("run", "--plain"), ("trace",), ("why",), ("export", "-o", "a.dvtrace")])
def test_without_pytorch_a_program_that_needs_it_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    error = refused(*command, script(tmp_path, NEEDS), cwd=tmp_path)
    name, *options = command
    assert error == (
        "dispatchviz: program.py, line 2: torch.sparse_coo_tensor is not in the model, and no PyTorch is installed "
        "here. To record it: pip install torch, then the same command. To run it on the model up to that line: "
        f"dispatchviz {' '.join([name, '--engine', 'model', *options])} program.py\n"
    )


def test_diff_refuses_it_too(tmp_path: Path) -> None:
    names = script(tmp_path, FINE, "fine.py"), script(tmp_path, NEEDS)
    assert refused("diff", *names, "--", "3", cwd=tmp_path).endswith(
        ": dispatchviz diff --engine model fine.py program.py -- 3\n"
    )


def test_code_and_arguments_are_kept_in_the_command(tmp_path: Path) -> None:
    code = "import torch; torch.sparse"
    error = refused("run", "--step", "3", "-c", code, "--lr", "1 2", cwd=tmp_path)
    assert error.endswith(f": dispatchviz run --engine model --step 3 -c {code!r} --lr '1 2'\n")
    assert refused("run", "-c", NEEDS, cwd=tmp_path).endswith(": dispatchviz run --engine model -c CODE\n")


def test_an_option_of_the_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused("run", "--cuda=none", script(tmp_path, NEEDS), cwd=tmp_path)
    assert "--cuda none works only on the model. Leave" in error


def test_settings_are_read_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = script(tmp_path, FINE)
    (tmp_path / "pyproject.toml").write_text("[tool.dispatchviz]\nengine = 'moon'\n")
    for command in (
        ("run", name),
        ("trace", name),
        ("why", name),
        ("export", "-o", "a.svg", name),
        ("diff", name, name),
    ):
        assert refused(*command, cwd=tmp_path).endswith("engine = 'moon': the engines are auto, model and torch\n")
    monkeypatch.setenv("DISPATCHVIZ_ENGINE", "sun")
    error = refused("run", name, cwd=tmp_path)
    assert error == "dispatchviz: DISPATCHVIZ_ENGINE=sun: the engines are auto, model and torch\n"


def test_a_saved_trace_refuses_an_engine_and_ranks(tmp_path: Path) -> None:
    assert dispatchviz("export", "-o", "a.dvtrace", script(tmp_path, FINE), cwd=tmp_path).status == 0
    for engine in ("auto", "model", "torch"):
        assert "--engine with a saved trace would do nothing" in refused(
            "run", "--engine", engine, "a.dvtrace", cwd=tmp_path
        )
    for command in (("run",), ("trace",), ("why",), ("export", "-o", "a.svg")):
        assert "--ranks with a saved trace would do nothing" in refused(*command, "--ranks", "a.dvtrace", cwd=tmp_path)


def test_a_name_found_at_run_time_ends_in_the_command_to_type(tmp_path: Path) -> None:
    ended = dispatchviz(
        "trace", "--engine=model", "--level", "lines", script(tmp_path, LATER), "--lr", "1 2", cwd=tmp_path
    )
    assert ended.status == 1
    tries = [line for line in ended.err.splitlines() if line.startswith("dispatchviz: try: ")]
    assert len(tries) == 1
    assert tries[0].endswith(": dispatchviz trace --engine torch --level lines program.py --lr '1 2'")
    assert "close name" not in ended.err


def test_why_ends_in_the_command_to_type(tmp_path: Path) -> None:
    ended = dispatchviz("why", "--engine", "model", "--limit", "10000", script(tmp_path, LATER), "-x", cwd=tmp_path)
    text = " ".join(ended.out.split())
    assert "uses torch.sparse_coo_tensor, which the model of dispatchviz does not have. try" in text
    assert ": dispatchviz why --engine torch --limit 10000 program.py -x see dispatchviz open" in text


def test_nothing_is_printed_for_a_program_whose_names_the_model_has(tmp_path: Path) -> None:
    ended = dispatchviz("export", "-o", "a.dvtrace", script(tmp_path, FINE), cwd=tmp_path)
    assert ended == (0, "", "")
    assert not Trace.load(tmp_path / "a.dvtrace").header.chosen


def test_options_of_another_engine_are_left_out_with_their_values() -> None:
    words = ["--engine", "model", "--cuda=none", "--hashes", "--cuda", "none", "--save", "a.dvtrace"]
    assert _left_out(words, {"--engine": True, "--cuda": True, "--hashes": False}) == ["--save", "a.dvtrace"]

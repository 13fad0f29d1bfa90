"""``dispatchviz why SCRIPT``: the three parts, the exit status, the call on one screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.cli.fast_commands import names_program

from .command import FORUM, dispatchviz, refused, script

FAILS = "import torch\nw = torch.ones(3)\nloss = (w * 2).sum()\nloss.backward()\n"


def test_an_error_is_explained_in_three_parts(tmp_path: Path) -> None:
    ended = dispatchviz("why", script(tmp_path, FAILS), cwd=tmp_path)
    assert ended.status == 1
    begins = [line[:12].rstrip() for line in ended.out.splitlines() if line[0] != " "]
    assert begins == ["why", "PyTorch says", "try", "see"]
    assert "w (line 2), which does not require grad" in " ".join(ended.out.split())
    assert ended.err.startswith("Traceback (most recent call last):\n")
    see, name, *command = ended.out.splitlines()[-1].split()
    assert (see, name) == ("see", "dispatchviz")
    opened = dispatchviz(command[0], "--plain", *command[1:])
    assert opened.status == 0
    assert "loss is computed from w (line 2)" in " ".join(opened.out.split())


def test_a_sound_program_has_one_line() -> None:
    ended = dispatchviz("why", FORUM)
    assert (ended.status, ended.out.count("\n")) == (0, 1)
    assert not ended.out.startswith("why")


ROWS = (
    "import torch\na = torch.ones(3, 1, requires_grad=True)\nb = torch.ones(4, requires_grad=True)\n"
    "y = a + b\nprint(y.grad_fn.next_functions)\ny.sum().backward()\n"
)


def test_notes_say_what_a_sound_program_shows(tmp_path: Path) -> None:
    ended = dispatchviz("why", script(tmp_path, ROWS), cwd=tmp_path)
    assert ended.status == 0
    sound, *lines = ended.out.splitlines()
    assert sound.endswith("no error and none of the known silent mistakes.")
    assert [line[:12].rstrip() for line in lines if line[0] != " "] == ["note", "note", "see"]
    assert "[0] is AccumulateGrad (a); [1] is AccumulateGrad (b)." in " ".join(ended.out.split())
    assert "that of a over dimension 1 and that of b over dimension 0." in " ".join(ended.out.split())
    opened = dispatchviz("open", "--plain", *lines[-1].split()[3:])
    assert opened.status == 0
    assert "AddBackward0" in opened.out
    values = json.loads(dispatchviz("why", "--json", script(tmp_path, ROWS), cwd=tmp_path).out)
    assert [each["kind"] for each in values["notes"]] == [
        "what next_functions holds",
        "gradient summed after broadcasting",
    ]


def test_program_output_and_status_are_kept(tmp_path: Path) -> None:
    ended = dispatchviz("why", "-c", "import sys; print('own', *sys.argv[1:]); sys.exit(3)", "--json", cwd=tmp_path)
    assert (ended.status, ended.err) == (3, "own --json\n")


def test_json_has_the_same_diagnosis(tmp_path: Path) -> None:
    ended = dispatchviz("why", "--json", script(tmp_path, FAILS), cwd=tmp_path)
    (found,) = json.loads(ended.out)["diagnoses"]
    assert (found["rank"], found["kind"]) == ("error", "no grad_fn: no leaf requires grad")
    assert found["PyTorch says"].startswith("element 0 of tensors")


def test_a_saved_trace_is_explained(tmp_path: Path) -> None:
    dispatchviz("trace", "--save", "a.dvtrace", script(tmp_path, FAILS), cwd=tmp_path)
    ended = dispatchviz("why", "a.dvtrace", cwd=tmp_path)
    assert (ended.status, ended.err) == (1, "")
    assert ended.out.endswith("see           dispatchviz open --step 126 a.dvtrace\n")


def test_the_log_and_the_end_of_an_export_say_why(tmp_path: Path) -> None:
    name = script(tmp_path, FAILS)
    log = dispatchviz("trace", name, cwd=tmp_path)
    assert "| why  loss is computed from w (line 2), which does not require grad" in log.out
    assert "why  " not in log.err
    exported = dispatchviz("export", name, "-o", "a.dvtrace", cwd=tmp_path)
    assert "loss is computed from w (line 2), which does not require grad" in " ".join(exported.err.split())


@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_call_fits_on_one_screen(engine: str) -> None:
    code = "import torch\nw = torch.ones(3, requires_grad=True)\nx = w * 2\ny = w * x\n"
    ended = dispatchviz("why", "--engine", engine, "--call", "mul", "--line", "4", "-c", code)
    lines = ended.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "  other        x  [3] float32 on cpu  same keys" in lines
    assert "  winner       AutogradCPU" in lines
    assert "redispatch aten::mul.Tensor" in lines


def test_usage_errors_are_refused() -> None:
    assert "--line is for --call OP" in refused("why", "--line", "3", FORUM)
    assert "there are calls of" in dispatchviz("why", "--call", "xlogy", FORUM).err
    assert "cannot read nope.py" in refused("why", "nope.py")


@pytest.mark.parametrize(
    ("typed", "program"),
    [
        ("why add CUDA", False),
        ("why add CUDA --json", False),
        ("why --build cpu add CUDA", False),
        ("why --error x.py", False),
        ("why train.py add CUDA", True),
        ("why --engine torch train", True),
        ("why -", True),
        ("why -cpass", True),
        ("why ./train", True),
        ("table a.py", False),
    ],
)
def test_script_or_trace_is_recognized(typed: str, program: bool) -> None:
    assert names_program(typed.split()) == program

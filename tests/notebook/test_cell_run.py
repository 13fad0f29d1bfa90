"""A cell runs as part of the notebook, and is recorded as a program of its own."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.notebook.cell import Cell
from dispatchviz.notebook.cell_run import Ran, run_cell
from dispatchviz.running.engines import MODEL
from tests.steps import steps

SOURCE = """\
# %%dispatchviz
import torch
x = torch.ones(2, requires_grad=True)
y = (x * scale).sum()
y.backward()
x.grad.tolist()
"""


def cell(text: str, number: int = 3) -> Cell:
    return Cell(text, f"<cell {number}>", f"Cell In[{number}]")


def ran(text: str, variables: dict[str, Any] | None = None) -> Ran:
    return run_cell(cell(text), {} if variables is None else variables, MODEL)


def test_cell_reads_and_sets_variables_of_the_notebook() -> None:
    variables: dict[str, Any] = {"scale": 3}
    done = ran(SOURCE, variables)
    assert done.error is None
    assert done.value == [3.0, 3.0]
    assert variables["y"].item() == 6.0
    assert set(variables) - {"__builtins__"} == {"scale", "torch", "x", "y"}


def test_lines_have_the_numbers_of_the_cell() -> None:
    trace = ran(SOURCE, {"scale": 3}).trace
    lines = [trace[at] for at in steps(trace, ev.SourceLine)]
    assert [line.line for line in lines if isinstance(line, ev.SourceLine)] == [2, 3, 4, 5, 6]
    assert {line.file for line in lines if isinstance(line, ev.SourceLine)} == {"Cell In[3]"}
    assert trace.header.program == "Cell In[3]"
    assert trace.header.sources == {"Cell In[3]": SOURCE}


def test_torch_is_restored_after_the_cell() -> None:
    """The installed torch is back in ``sys.modules``, under its name and in the notebook's variables."""
    real = ModuleType("torch")
    functional = ModuleType("torch.nn.functional")
    variables: dict[str, Any] = {"torch": real, "F": functional}
    sys.modules["torch"] = real
    try:
        done = ran("x = torch.ones(2)\nz = F.relu(x)\ndone = type(torch).__name__, torch.__name__\n", variables)
        assert done.error is None
        assert sys.modules["torch"] is real
    finally:
        del sys.modules["torch"]
    assert variables["torch"] is real
    assert variables["F"] is functional
    assert variables["done"][1] == "dispatchviz.torch"
    assert steps(done.trace, ev.Dispatched)


def test_variable_torch_set_by_the_cell_stays() -> None:
    variables: dict[str, Any] = {"torch": ModuleType("torch")}
    assert ran("torch = 3\n", variables).error is None
    assert variables["torch"] == 3


def test_run_leaves_no_state() -> None:
    before, output, path = {name for name in sys.modules if name.startswith("torch")}, sys.stdout, sys.path[:]
    done = ran("import torch\nraise ValueError('mine')\n")
    assert isinstance(done.error, ValueError)
    assert recorder.active is None
    assert sys.stdout is output
    assert sys.path == path
    assert {name for name in sys.modules if name.startswith("torch")} == before


def test_an_error_has_the_users_frames_and_is_the_last_event() -> None:
    done = ran("# first\ndef f():\n    return 1 // 0\nf()\n")
    assert isinstance(done.error, ZeroDivisionError)
    found, frame = [], done.error.__traceback__
    while frame is not None:
        found.append((frame.tb_frame.f_code.co_filename, frame.tb_lineno))
        frame = frame.tb_next
    assert found == [("<cell 3>", 4), ("<cell 3>", 3)]
    last = done.trace[len(done.trace) - 1]
    assert isinstance(last, ev.ProgramRaised)
    assert (last.exception, last.file, last.line) == ("ZeroDivisionError", "Cell In[3]", 3)


def test_syntax_errors_are_pythons_own() -> None:
    with pytest.raises(SyntaxError) as raised:
        ran("# first\nif:\n    pass\n")
    assert (raised.value.filename, raised.value.lineno) == ("<cell 3>", 2)


@pytest.mark.parametrize(("text", "value"), [
    ("1 + 1\n", 2),
    ("x = 1\n", None),
    ("", None),
    ("for i in range(3):\n    i\n", None),
    ("None\n", None),
    ("'a'\n", "a"),
])  # fmt: skip
def test_the_last_expression_is_its_value(text: str, value: object) -> None:
    assert ran(text).value == value


def test_numbers_go_on_from_cell_to_cell() -> None:
    """Numbers continue as in one process, because a graph may have Nodes of several cells."""
    variables: dict[str, Any] = {}
    first = ran("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n", variables).trace
    second = ran("z = y * 3\nz.sum().backward()\n", variables).trace
    one = first[steps(first, ev.NodeCreated)[0]]
    other = next(second[at] for at in steps(second, ev.NodeCreated) if not second[at].known)  # type: ignore[union-attr]
    assert isinstance(one, ev.NodeCreated)
    assert isinstance(other, ev.NodeCreated)
    assert other.sequence_nr > one.sequence_nr
    assert variables["x"].grad.tolist() == [6.0, 6.0]


def test_output_is_an_event_and_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    trace = ran("print('seen')\n").trace
    assert capsys.readouterr().out == "seen\n"
    printed = [trace[at] for at in steps(trace, ev.Printed)]
    assert [event.text for event in printed if isinstance(event, ev.Printed)] == ["seen\n"]


def test_a_module_of_the_model_may_be_named_too() -> None:
    model = importlib.import_module("dispatchviz.torch")
    variables: dict[str, Any] = {"torch": model}
    assert ran("torch.ones(1).item()\n", variables).value == 1.0
    assert variables["torch"] is model

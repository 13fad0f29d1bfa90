"""Check that a program gets its diagnosis or note on an installed PyTorch, and the same answers as on the model: rank,
cause, fixes and line. Most of the time goes into the recording, so one recording serves both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.note_rules import notes
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from tests.explain.diagnosis.cases import cases, check, traced
from tests.explain.diagnosis.test_notes import CASES as NOTED
from tests.explain.diagnosis.test_notes import check_note

pytestmark = pytest.mark.torch

CASES = cases("CASES")
NOTES = {f"{case.kind}: {case.name}": case for case in NOTED}

GRADIENTS = "a recording of PyTorch does not show which gradients a line sets to None"
APPLIED = "a recording of PyTorch does not show the line that applies a custom Function whose result is not used"
FLAGS = "a recording of PyTorch does not show that a program sets requires_grad to False"
VIEWS = "a recording of PyTorch names a view of a tensor without a history after the call that made it"
PLACE = "a recording of PyTorch has another step at which the error was raised"

DIFFERENT = {
    "losses: a flattened batch": VIEWS,
    "early_resets: a training loop": GRADIENTS,
    "early_resets: gradients of zeros": GRADIENTS,
    "early_resets: one step": GRADIENTS,
    "inplace: a view made by a Function": APPLIED,
    "inplace: an input that a Function returns": APPLIED,
    "inplace: an element of what a Function returned": APPLIED,
    "no_graph: a leaf that is frozen": FLAGS,
    "no_graph: a flag that is set to False": FLAGS,
    "no_graph: a leaf that a function freezes": FLAGS,
    "no_graph: a decorator around a layer": FLAGS,
    "strides: expanded": VIEWS,
    **dict.fromkeys(
        (
            "transforms: no tensor",
            "transforms: grad of a vector",
            "transforms: grad of two values",
            "transforms: grad of a number",
            "transforms: no return",
            "transforms: a size beside a tensor",
            "transforms: a text in a dict",
        ),
        PLACE,
    ),
}
"""The programs with another answer on an installed PyTorch, and the reason."""

NODE = re.compile(r" \(n\d+\)")
"""The number of a Node. A recording numbers an AccumulateGrad before the Node that leads to it."""


class Answer(NamedTuple):
    """A diagnosis or a note without the numbers of steps and Nodes."""

    rank: str
    kind: str
    line: int
    why: str
    fixes: tuple[str, ...] = ()


def answers(trace: Trace) -> list[Answer]:
    """Return everything that ``dispatchviz why`` says about a program."""
    found = [Answer(each.rank, each.kind, _line(trace, each.at), each.why, each.fixes) for each in diagnoses(trace)]
    noted = [Answer("note", each.statement.kind, _line(trace, each.at), each.statement.text) for each in notes(trace)]
    return [each._replace(why=NODE.sub("", each.why)) for each in (*found, *noted)]


def _line(trace: Trace, at: int) -> int:
    line = source_line(trace, at)
    return 0 if line is None else line.line


@pytest.mark.parametrize("name", CASES)
def test_program_gets_its_diagnosis_and_the_answers_of_the_model(name: str) -> None:
    on_model, on_pytorch = answers(traced(CASES[name].source)), answers(check(CASES[name], "torch"))
    if name in DIFFERENT:
        assert on_model != on_pytorch, f"{name} gets the same answer now"
    else:
        assert on_model == on_pytorch


@pytest.mark.parametrize("name", NOTES)
def test_program_gets_its_note_and_the_answers_of_the_model(name: str) -> None:
    assert answers(check_note(NOTES[name], "torch")) == answers(traced(NOTES[name].source, most=0))

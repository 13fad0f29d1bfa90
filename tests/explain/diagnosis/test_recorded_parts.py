"""A recording of a part of a program proves nothing about the rest, so no diagnosis concludes something from it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dispatchviz.core.record.event_filter import read_only
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.note_rules import notes
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from dispatchviz.views.cards.diagnosis_text import nothing_wrong

ACCUMULATED = """
import torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    loss = (w * 2).sum()
    loss.backward()
    optimizer.step()
"""
TWICE = """
import torch
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
SHAPES = """
import torch
a = torch.ones(2, 3)
b = a @ torch.ones(2, 3)
"""


def _recorded(tmp_path: Path, program: str, *conditions: str) -> Trace:
    path = tmp_path / "p.py"
    path.write_text(program.lstrip("\n"))
    return run(str(path), (), io.StringIO(), only=read_only(conditions) if conditions else None).trace


def test_silent_mistakes_are_not_searched_in_a_part(tmp_path: Path) -> None:
    assert diagnoses(_recorded(tmp_path, ACCUMULATED))
    for part in ("line=5", "op=sum", "iteration=2"):
        trace = _recorded(tmp_path, ACCUMULATED, part)
        assert not diagnoses(trace)
        assert not notes(trace)
        assert nothing_wrong(trace) == (
            f"{trace.header.program}: no error. Only a part of the program was recorded ({part}), so mistakes that "
            "raise no error are not searched for."
        )


@pytest.mark.parametrize("part", ["line=5", "line=3", "op=sum"])
def test_error_of_the_graph_is_not_explained_from_a_part(part: str, tmp_path: Path) -> None:
    (whole,) = diagnoses(_recorded(tmp_path, TWICE))
    (found,) = diagnoses(_recorded(tmp_path, TWICE, part))
    assert whole.kind != found.kind
    assert found.unseen.endswith(f"Only a part of the program was recorded ({part}). The cause may be in another part.")


def test_error_of_a_recorded_call_is_explained(tmp_path: Path) -> None:
    (whole,) = diagnoses(_recorded(tmp_path, SHAPES))
    (found,) = diagnoses(_recorded(tmp_path, SHAPES, "line=3"))
    assert (found.kind, found.why) == (whole.kind, whole.why)
    assert "Only a part" in found.unseen

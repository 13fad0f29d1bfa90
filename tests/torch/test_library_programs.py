"""Programs with ``torch.library``, ``custom_op`` and ``torch.ops``: the model notes what PyTorch noted."""

from __future__ import annotations

import difflib

import pytest

import dispatchviz.torch as model
from dispatchviz.core.table.library import process
from dispatchviz.core.thread.warning import reset_warnings
from dispatchviz.running.process_state import clean_process_state
from tests.amounts import in_turn
from truth import records
from truth.programs.library import PROGRAMS, run

pytestmark = [pytest.mark.long, pytest.mark.record("library_programs")]

STORED = records.read("library_programs")


def _in_model(name: str) -> list[str]:
    with clean_process_state(), reset_warnings():
        return run(model, PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_notes_what_it_notes_in_pytorch(name: str) -> None:
    lines = difflib.unified_diff(STORED["programs"][name], _in_model(name), "PyTorch", "model", lineterm="")
    assert not list(lines)


def test_the_record_is_of_these_programs_and_of_the_modelled_release() -> None:
    assert set(STORED["programs"]) == set(PROGRAMS)
    assert STORED["torch"] == model.__version__


@pytest.mark.parametrize("name", ["registration", "custom_ops", "reentrant"])
def test_a_program_leaves_nothing_behind(name: str) -> None:
    before, fallbacks = set(process.names()), dict(process.fallbacks)
    assert _in_model(name) == _in_model(name)
    assert set(process.names()) == before
    assert process.fallbacks == fallbacks


@pytest.mark.long
@pytest.mark.torch
def test_the_record_is_what_an_installed_pytorch_notes() -> None:
    from truth.recorders.library_programs import recorded

    names = in_turn([*STORED["programs"]], 3)
    assert recorded(names) == {**STORED, "programs": {name: STORED["programs"][name] for name in names}}

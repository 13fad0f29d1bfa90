"""Check that each program of ``programs`` gets the diagnosis in its case, on the model and on an installed PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pytest

from dispatchviz.explain.diagnosis.diagnose import diagnoses
from tests.explain.diagnosis.cases import Case, cases, check, sound, traced

Value = TypeVar("Value")


def each_of(named: Mapping[str, Value]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("given", named.values(), ids=named)


@each_of(cases("CASES", "ON_THE_MODEL", "ON_A_GPU"))
def test_program_gets_its_diagnosis_on_the_model(given: Case) -> None:
    check(given, "model")


@pytest.mark.torch
@each_of(cases("ON_PYTORCH"))
def test_program_gets_its_diagnosis_on_an_installed_pytorch(given: Case) -> None:
    """``test_both_engines.py`` has the programs that the model runs, too."""
    check(given, "torch")


@pytest.mark.torch
@each_of(cases("ON_THE_MODEL"))
def test_unrecorded_mistake_has_no_diagnosis_on_an_installed_pytorch(given: Case) -> None:
    assert diagnoses(traced(given.source, "torch")) == ()


@pytest.mark.torch
@pytest.mark.parametrize(("places", "needed"), [("ON_A_GPU", True), ("WITHOUT_A_GPU", False)])
def test_program_with_or_without_cuda_gets_its_diagnosis(places: str, needed: bool) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() != needed:
        pytest.skip("it depends on a GPU")
    for case in cases(places).values():
        check(case, "torch")


@each_of(sound())
def test_sound_program_has_no_diagnosis_on_the_model(given: str) -> None:
    assert diagnoses(traced(given)) == ()


@pytest.mark.torch
@each_of(sound())
def test_sound_program_has_no_diagnosis_on_an_installed_pytorch(given: str) -> None:
    assert diagnoses(traced(given, "torch")) == ()

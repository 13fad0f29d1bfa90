"""What sentences state about PyTorch, put to PyTorch, over all programs.

Counts are printed at the end of the run by ``tests/conftest.py``.
"""

from __future__ import annotations

import importlib
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dispatchviz.explain.sentences.sentence_claims import Claim
from tests.amounts import some
from tests.claims.moments import run_on_model
from tests.claims.programs import programs
from truth.observers.runs import in_new_thread

pytest.importorskip("torch")

from tests.claims.backward_errors import wrongly_predicted
from tests.claims.checks import CHECKS, PyTorchMoment, Question

pytestmark = pytest.mark.torch

for check in sorted(Path(__file__).parent.glob("check_*.py")):
    importlib.import_module(f"tests.claims.{check.stem}")

PARTS = 24
ALL = programs()


def differences(source: str, counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Every claim of a program that PyTorch does not bear out; counts by kind of sentence what was asked.

    And what was predicted of backward at its end, in the runs that are there.
    """
    run = run_on_model(source)
    for moment in run.moments:
        shared = PyTorchMoment(source, run.trace, moment)
        for seq, statement in run.said(moment):
            for claim in statement.claims:
                check = CHECKS.get(type(claim))
                if check is None:
                    continue  # that every class of claims has one is a test of its own
                answer = check(claim, Question(run.trace, seq, shared))
                counts[statement.kind, "cannot be asked" if answer is None else "asked"] += 1
                if answer:
                    yield f"line {moment.line}, step {seq}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}"
    yield from wrongly_predicted(run, shared.pytorch)


def test_every_class_of_claims_has_a_check() -> None:
    assert not set(typing.get_args(Claim)) - CHECKS.keys()


@pytest.mark.long
@pytest.mark.parametrize("part", some(range(PARTS), 3))
def test_what_is_said_is_what_pytorch_does(part: int, record_property: Callable[[str, object], None]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    names = sorted(ALL)[part::PARTS]
    for name in names:
        found = in_new_thread(lambda name=name: list(differences(ALL[name], counts)))
        wrong += [f"{name}: {text}\n{ALL[name]}" for text in found]
    record_property("claims_programs", len(names))
    for (kind, how), count in counts.items():
        record_property("claims", [kind, how, count])
    assert not wrong, f"{len(wrong)} differences\n" + "\n\n".join(wrong[:10])

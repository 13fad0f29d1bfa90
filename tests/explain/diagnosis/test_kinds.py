"""Check that every kind of diagnosis has at least three cases with different programs."""

from __future__ import annotations

from collections import defaultdict

from scripts.sentences.kinds import diagnosis_kinds
from tests.explain.diagnosis.cases import LISTS, cases

IN_THE_MIDDLE = "only a recording that begins in the middle does not know which"

FEWER = {
    "unused input: not known which": IN_THE_MIDDLE,
    "out= with one of several that requires grad": IN_THE_MIDDLE,
    "gradient of an unknown result": IN_THE_MIDDLE,
}
"""The kinds with fewer cases, and the reason."""


def test_each_kind_is_defined_once() -> None:
    names = [kind.name for kind in diagnosis_kinds()]
    assert len(names) == len(set(names)) > 100


def test_every_kind_has_three_programs() -> None:
    programs = defaultdict[str, set[str]](set)
    for case in cases(*LISTS).values():
        for kind in (case.kind, case.torch_kind):
            programs[kind].add(case.source)
    own = [kind.name for kind in diagnosis_kinds() if "/notes/" not in kind.module]  # test_notes.py has their cases
    few = {name: len(programs[name]) for name in own if len(programs[name]) < 3}
    assert few.keys() == FEWER.keys(), few


UNFIXED = {
    "a non-leaf sent to a process": "the fixed program would begin a process that shares memory",
    "devices: no CUDA": "the fixed program is for a machine without a GPU",
    "not in the model": "another engine runs the same program",
}
"""The kinds whose cases have no fixed program, and the reason."""


def test_every_case_with_a_fix_has_the_fixed_program() -> None:
    lacking = [
        name for name, case in cases(*LISTS).items() if case.tries and not case.fixed and case.kind not in UNFIXED
    ]
    assert lacking == []

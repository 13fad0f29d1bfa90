"""Replayed registrations: every answer, dispatch table entry and dump is the same as PyTorch's.

``truth/recorders/dispatch_registrations.py`` recorded them. The stored entries matter most: PyTorch recomputes only
some of them after a change, and the rest become stale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from dispatchviz.core.kernel.cpp_signature import T_T
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey, parse_dispatch_key
from dispatchviz.core.table import dump
from dispatchviz.core.table.library import Library
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from tests.core.experiments import with_fallbacks
from truth import records

pytestmark = pytest.mark.record("dispatch_registrations")

DATA: dict[str, Any] = records.read("dispatch_registrations")
NAMES = ("ns::foo", "ns::bar.ovl")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _key(name: str) -> DispatchKey | None:
    return parse_dispatch_key(name) if name else None


class Steps:
    """The steps of a refusal case, done by the model."""

    def __init__(self) -> None:
        self.registry = with_fallbacks()
        self.libraries: dict[str, Library] = {}

    def attempt(self, verb: str, *words: str) -> str | None:
        try:
            getattr(self, verb)(*words)
        except RuntimeError as error:
            return str(error)
        return None

    def library(self, name: str, kind: str, namespace: str, key: str) -> None:
        self.libraries[name] = Library(kind, namespace, _key(key), self.registry, "here:0")

    def define(self, library: str, schema: str) -> None:
        self.libraries[library].def_(schema)

    def impl(self, library: str, name: str, key: str) -> None:
        self.libraries[library].impl(name, Kernel("k", None, "impl_t_t", cpp=T_T), _key(key))

    def fallback(self, library: str, key: str) -> None:
        through = Kernel("k", None, "registered at here:0", boxed=True, fallthrough=True)
        self.libraries[library].fallback(through, _key(key))

    def find(self, name: str, overload: str) -> None:
        self.registry.find(f"{name}.{overload}" if overload else name)

    def reset(self, library: str) -> None:
        self.libraries.pop(library).reset()


@pytest.mark.parametrize("case", DATA["refusals"], ids=lambda case: "-".join(step[0] for step in case[0]))
def test_every_answer_equals_pytorchs(case: list[Any]) -> None:
    steps, answers, dumps = case
    model = Steps()
    ours = [model.attempt(*step) for step in steps]
    assert ours == answers
    operators = [model.registry.operators.get(name) for name in NAMES]
    assert [dump.dump_state(op) if op else "" for op in operators] == dumps


class Sequence:
    """One operator of the model whose kernels are registered and removed."""

    def __init__(self) -> None:
        self.registry = with_fallbacks()
        self.op: OperatorEntry = Library("FRAGMENT", "ns", None, self.registry, "here:0").def_(
            "op(Tensor self) -> Tensor"
        )
        self.kernels: list[Kernel] = []
        self.undo: list[Callable[[], None]] = []

    def run(self, steps: list[list[Any]]) -> None:
        for verb, *words in steps:
            if verb == "+":
                self.put(*words)
            else:
                self.undo[words[0]]()

    def put(self, key: str, fallthrough: bool) -> None:
        pointer = "fallthrough" if fallthrough else "python"  # all Python kernels share one C++ function
        kernel = Kernel("k", None, "registered at here:0", boxed=True, fallthrough=fallthrough, pointer=pointer)
        self.kernels.append(kernel)
        library = Library("IMPL", "ns", parse_dispatch_key(key), self.registry, "here:0")
        self.undo.append(library.impl("op", kernel))

    def mark(self, cell: Cell) -> str:
        """The mark of an entry, as in the file."""
        if cell.kernel is None:
            return "."
        if cell.kernel.fallthrough:
            return ">"
        if cell.kernel.name == "ambiguous_autogradother":
            return "!"
        return DIGITS[self.kernels.index(cell.kernel)] if cell.kernel in self.kernels else "*"

    def stale(self) -> bool:
        try:
            dump.check_invariants(self.op)
        except RuntimeError:
            return True
        return False


@pytest.mark.parametrize("number", range(len(DATA["sequences"])))
def test_every_stored_entry_equals_pytorchs(number: int) -> None:
    steps, cells, stale, state, table = DATA["sequences"][number]
    model = Sequence()
    model.run(steps)
    ours = "".join(
        "?" if theirs == "?" else model.mark(cell) for cell, theirs in zip(model.op.table, cells, strict=True)
    )
    assert dict(zip(DATA["keys"], ours, strict=True)) == dict(zip(DATA["keys"], cells, strict=True)), steps
    assert model.stale() is stale, steps
    assert dump.dump_state(model.op) == state
    assert dump.dump_table(model.op) == table


def test_sequences_reach_every_kind_of_entry() -> None:
    """Check that the file does not silently lose cases."""
    marks = Counter("".join(cells for _, cells, *_ in DATA["sequences"]))
    assert len(DATA["sequences"]) == 400
    assert min(marks[mark] for mark in "012345>.*") > 100
    assert marks["!"] > 10
    assert sum(stale for _, _, stale, *_ in DATA["sequences"]) > 10
    assert marks["?"] < sum(marks.values()) / 6

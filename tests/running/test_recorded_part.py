"""A program of which a part is recorded reports only that part, and counts iterations and bindings everywhere."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from dispatchviz.running.instrumented_source import compile_instrumented
from dispatchviz.running.recorded_part import Gate, Iterations, RecordedPart


class _Watcher:
    """A watcher that opens the gate at selected lines and in selected iterations."""

    def __init__(self, gate: Gate, wanted: tuple[tuple[int, int, int], ...]) -> None:
        self.gate, self.lines, self.names, self.frames = gate, list[int](), list[tuple[str, int]](), 0
        self.iterations = Iterations(wanted, self._set)
        self._counters: dict[str, Any] = {}

    def _set(self, is_open: bool) -> None:
        self.gate.open = is_open

    def line_reached(self, line: int) -> None:
        self.lines.append(line)

    call_begins = line_reached

    def variable_bound(self, scope: str, name: str, value: Any) -> None:
        self.names.append((name, 0))

    items_changed = variable_bound

    def bindings_of(self, name: str) -> Any:
        return self._counters.setdefault(name, iter(range(1, 1000)).__next__)

    def bound_in_iteration(self, scope: str, name: str, value: Any) -> None:
        self.names.append((name, self.bindings_of(name)()))

    def binding(self, scope: str, name: str, value: Any) -> Any:
        self.names.append((name, -1))
        return value

    def here(self, value: Any = None) -> Any:
        return value

    away = here

    def within(self) -> Any:
        self.frames += 1
        return self.here

    def line_selected(self) -> None:
        self._set(True)

    def line_not_selected(self) -> None:
        self._set(False)

    def iteration_begins(self, line: int) -> None:
        self.iterations.begins((0, line))

    def loop_over(self, line: int) -> None:
        self.iterations.over((0, line))


PROGRAM = """
    total = 0
    for i in range(5):
        total += i
        for j in (1, 2):
            last = (k := j) + sum(x for x in (1, 2))
    while total > 8:
        total = (lambda t: t - 1)(total)
    end = total
"""


def _run(wanted: tuple[tuple[int, int, int], ...] = (), **part: Any) -> tuple[_Watcher, dict[str, Any]]:
    gate, space = Gate(), dict[str, Any]()
    watcher = _Watcher(gate, wanted)
    exec(compile_instrumented(dedent(PROGRAM).lstrip("\n"), "p.py", watcher, part=RecordedPart(gate, **part)), space)
    space.pop("__builtins__")
    return watcher, space


def test_closed_gate_reports_nothing_and_changes_nothing() -> None:
    watcher, space = _run()
    assert not watcher.lines
    assert not watcher.names
    assert not watcher.frames
    assert space == {"total": 8, "i": 4, "j": 2, "k": 2, "last": 5, "end": 8}


def test_selected_lines_open_the_gate_for_themselves() -> None:
    watcher, _ = _run(lines=((3, 3),))
    assert watcher.lines == [3] * 5
    assert not watcher.gate.open


def test_bindings_are_counted_while_the_gate_is_closed() -> None:
    watcher, _ = _run(((0, 3, 3),), loops=frozenset({0}))
    assert watcher.lines == [3, 4, 5, 5]
    assert ("i", 3) in watcher.names
    assert ("last", 5) in watcher.names
    assert ("last", 6) in watcher.names


def test_selected_iterations_are_those_of_loops_inside_no_other() -> None:
    watcher, _ = _run(((0, 2, 2),), loops=frozenset({0}))
    assert watcher.lines == [3, 4, 5, 5, 7, 6]  # the condition ends the iteration
    assert watcher.iterations.most == {2: 5, 6: 2}


def test_line_of_an_inner_loop_selects_its_iterations() -> None:
    watcher, _ = _run(((4, 2, 2),), loops=frozenset({4}))
    assert watcher.lines == [5] * 5
    assert watcher.iterations.most == {4: 2}


@pytest.mark.parametrize(("wanted", "changes"), [(((0, 2, 3),), [True, False]), (((0, 9, 9),), [])])
def test_change_is_reported_once(wanted: tuple[tuple[int, int, int], ...], changes: list[bool]) -> None:
    found: list[bool] = []
    iterations = Iterations(wanted, found.append)
    for _ in range(4):
        iterations.begins((1, 7))
    iterations.over((1, 7))
    assert found == changes

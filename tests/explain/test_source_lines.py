"""The lit line of our sources is the one that Python was on at the event."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from types import CodeType

import pytest

from dispatchviz import torch as model
from dispatchviz.core.call import guard_fusion
from dispatchviz.core.generated import inplace_or_view, variable_type
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.locations import event_lines, source_view
from dispatchviz.explain.locations.event_lines import lines_of
from dispatchviz.explain.locations.source_view import source_at
from tests.running.running_lines import Stood, recorded
from truth.observers.runs import Run, in_new_thread
from truth.programs import PROGRAMS

EXACT = (
    *(ev.NoNodeMade, ev.NodeCreated, ev.EdgesCollected, ev.AttributeSaved, ev.VariableSaved, ev.VariableNotSaved),
    *(ev.GuardEntered, ev.GuardLeft, ev.HistoryRebased, ev.ViewMade, ev.MetaEntered, ev.ImplEntered),
)
"""Never astray in a generated function."""

FOUNDING = "forum_cpu_y_requires_grad"
SAMPLE = [*PROGRAMS][::60]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels as they stand in their files, so that a guard has a line of its own; lines laid out once a function."""
    monkeypatch.setattr(guard_fusion, "fuse", lambda function: None)
    for module in (variable_type, inplace_or_view):
        for kernel in module.KERNELS.values():
            monkeypatch.setattr(kernel, "__code__", as_written(kernel.__code__))
    laid_out = functools.cache(lambda file, function, events, skipped: lines_of(file, function, events, skipped))

    def once(
        file: str, function: ast.FunctionDef, events: list[ev.AnyEvent], skipped: frozenset[int] = frozenset()
    ) -> list[int]:
        return laid_out(file, function, tuple(events), skipped)  # type: ignore[no-any-return]

    monkeypatch.setattr(event_lines, "lines_of", once)


def as_written(code: CodeType) -> CodeType:
    """The code of a function as it stands in its file, whether it has been fused or not."""
    return guard_fusion._compiled(guard_fusion._source(code), code)


def differences(trace: Trace, stood: list[Stood]) -> tuple[Counter[str], list[str]]:
    """How many events of each kind have a function of ours around, and those whose lit line is another one."""
    asked: Counter[str] = Counter()
    wrong = []
    for event, standing in zip(trace, stood, strict=False):
        view, code = source_at(trace, event.seq), source_view._code(trace, event.seq)
        functions = (line for file, first, line in standing if (file, first) == (view.running, view.running_first))
        line = next(functions, 0)
        if code is not None and code.seq != event.seq and line:
            where = "generated" if "/generated/" in view.running else "by hand"
            asked[f"{type(event).__name__} {where}"] += 1
            if view.running_line != line:
                wrong.append(f"{type(event).__name__} {where}: {view.running}:{view.running_line}, not {line}")
    return asked, wrong


def run(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], list[str]]:
    program = Run(model, PROGRAMS[name])
    return differences(*in_new_thread(lambda: recorded(monkeypatch, program.whole)))


def test_every_line_of_the_founding_program_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, wrong = run(FOUNDING, monkeypatch)
    assert asked["Dispatched generated"] > 20
    assert wrong == []


@pytest.mark.long
def test_the_lines_of_many_programs_are_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    wrong: list[str] = []
    for name in SAMPLE:
        found, differing = run(name, monkeypatch)
        asked += found
        wrong += differing
    exact = tuple(f"{kind.__name__} generated" for kind in EXACT)
    assert [line for line in wrong if line.startswith(exact)] == []
    astray = Counter(line.partition(":")[0] for line in wrong)
    assert asked["Dispatched generated"] > 2000
    assert astray["Dispatched generated"] <= asked["Dispatched generated"] / 200, wrong
    assert astray["Dispatched by hand"] <= asked["Dispatched by hand"] / 12, wrong


def test_every_dispatch_lights_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SAMPLE[::5]:
        program = Run(model, PROGRAMS[name])
        trace, _ = in_new_thread(lambda program=program: recorded(monkeypatch, program.whole))
        for event in trace:
            if isinstance(event, ev.Dispatched) and source_view._code(trace, event.seq) is not None:
                assert source_at(trace, event.seq).running_line, (name, event)

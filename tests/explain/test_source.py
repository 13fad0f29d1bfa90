"""The lines of source that a step comes from."""

from __future__ import annotations

import ast
import functools
import inspect
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz import torch as model
from dispatchviz.core.call import guard_fusion
from dispatchviz.core.generated import inplace_or_view, variable_type
from dispatchviz.core.native.iterator import alike
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.locations import event_lines, source_view
from dispatchviz.explain.locations.event_lines import lines_of
from dispatchviz.explain.locations.source_view import SourceView, source_at, source_of
from dispatchviz.running.program import run
from dispatchviz.testing import event
from dispatchviz.views.panes import source_pane
from tests.running.running_lines import Stood, recorded
from tests.steps import inside, line, step
from truth.observers.runs import Run, in_new_thread
from truth.programs import PROGRAMS

from .founding import PROGRAM, Tape, founding


def running(file: str, line: int, end_line: int, at: type[ev.Event] = ev.KernelEntered) -> SourceView:
    """The source view at the beginning, or at the end, of one of our kernels."""
    tape = Tape()
    with tape.within(ev.KernelEntered, "kernel", "K.cpp", 0, file, line, end_line):
        tape.add(ev.KernelReturned, ())
    trace = tape.trace()
    return source_at(trace, step(trace, at))


def test_the_users_line() -> None:
    trace = founding()
    view = source_at(trace, step(trace, ev.NodeCreated))
    assert (view.file, view.line) == ("forum.py", 6)
    assert view.lines == tuple(PROGRAM.splitlines())
    assert view.running == ""


def test_lines_inside_a_guard_that_the_program_holds() -> None:
    tape = Tape()
    with (
        tape.within(ev.SourceLine, "forum.py", 1),
        tape.within(ev.GuardEntered, "InferenceMode", 0, 0, 0, 0),
    ):
        tape.add(ev.SourceLine, "forum.py", 2)
        tape.add(ev.NameBound, "x", 0)
        tape.add(ev.SourceLine, "forum.py", 3)
        tape.add(ev.NameBound, "y", 0)
    trace = tape.trace()
    shown = [source_at(trace, at).line for at in inside(trace, line(trace, 1))]
    assert shown == [1, 1, 2, 2, 3, 3]


def test_our_source_and_the_line_to_look_at() -> None:
    lines, first = inspect.getsourcelines(source_of)
    view = running("explain/locations/source_view.py", first, first + len(lines) - 1, ev.KernelReturned)
    assert (view.running, view.running_first) == ("explain/locations/source_view.py", first)
    assert view.running_lines == tuple("".join(lines).splitlines())
    assert view.running_lines[view.running_line - first].strip() == "return SourceView("


def test_files_outside_the_package_are_not_read() -> None:
    for file in ("../pyproject.toml", "/etc/passwd", "../tests/explain/founding.py", "explain/missing.py", "py.typed"):
        assert running(file, 1, 5).running_lines == ()


def test_no_line_reached_yet() -> None:
    view = running("", 0, 0)
    assert (view.line, view.running, view.running_lines) == (0, "", ())


def test_the_lines_that_called_are_named_below_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = "import torch\ndef inner(x):\n    return x * 2\ndef outer(x):\n    return inner(x)\n\n"
    Path("p.py").write_text(f"{program}outer(torch.ones(2))\n")
    trace = run("p.py", (), io.StringIO()).trace
    at = step(trace, event(ev.BindingEntered, function=lambda name: "mul" in name))
    view = source_at(trace, at)
    assert (view.line, [(line.function, line.line) for line in view.called_from]) == (3, [("outer", 5), ("", 7)])
    told = ["".join(span[0] for span in row.spans) for row in source_pane.rows(trace, at, 80)]
    assert [row for row in told if row.startswith("called from")] == [
        "called from outer in p.py  line 5",
        "called from p.py  line 7",
    ]


def test_a_forward_formula_shows_the_function_that_computes_it() -> None:
    with dispatchviz.record() as trace, torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        x * x
    formula = step(trace, ev.ForwardFormulaEntered)
    product = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor"), within=formula)
    seen = [source_at(trace, at) for at in (formula, product)]
    assert {view.running for view in seen} == {"core/generated/forward_mode.py"}
    lit = [view.running_lines[view.running_line - view.running_first].strip() for view in seen]
    assert lit[0] == 'with forward_formula("other_t * self_p + self_t * other_p"):'
    assert "ops.mul_Tensor.call(" in lit[1]
    assert [view.running_lines[0].partition("(")[0] for view in seen] == ["def mul_Tensor"] * 2


@pytest.mark.parametrize(("device", "kernel"), [("cpu", "wrapper_CPU_add_Tensor"), ("cuda", "wrapper_CUDA_add_Tensor")])
def test_the_source_of_a_kernel_that_two_devices_share_says_which_it_is(device: str, kernel: str) -> None:
    x = torch.ones(2, device=device)
    with dispatchviz.record() as trace:
        x + x
    at = step(trace, event(ev.KernelEntered, kernel=kernel))
    view = source_at(trace, at)
    assert (view.kernel, view.running) == (kernel, "core/generated/register_cpu_cuda.py")
    assert kernel in view.running_lines[1]
    heads = ["".join(span[0] for span in row.spans) for row in source_pane.rows(trace, at, 80)]
    assert any(head.startswith(view.running) and head.endswith(kernel) for head in heads)


EXACT = (
    *(ev.NoNodeMade, ev.NodeCreated, ev.EdgesCollected, ev.AttributeSaved, ev.VariableSaved, ev.VariableNotSaved),
    *(ev.GuardEntered, ev.GuardLeft, ev.HistoryRebased, ev.ViewMade, ev.MetaEntered, ev.ImplEntered),
)
"""Never astray in a generated function."""

FOUNDING = "forum_cpu_y_requires_grad"
SAMPLE = [*PROGRAMS][::60]


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    """Use the kernels as their files have them, so that a guard, a meta function and an impl function have their own
    lines, and lay lines out once per function.
    """
    laid_out = functools.cache(lambda file, function, events, skipped: lines_of(file, function, events, skipped))

    def once(
        file: str, function: ast.FunctionDef, events: list[ev.AnyEvent], skipped: frozenset[int] = frozenset()
    ) -> list[int]:
        return laid_out(file, function, tuple(events), skipped)  # type: ignore[no-any-return]

    left_plain: list[FunctionType] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard_fusion, "fuse", left_plain.append)
        for module in (variable_type, inplace_or_view):
            for kernel in module.KERNELS.values():
                patch.setattr(kernel, "__code__", as_written(kernel.__code__))
        patch.setattr(event_lines, "lines_of", once)
        patch.setattr(alike, "_are_alike", lambda a, b: False)
        yield
    for kernel in left_plain:  # the next test of this process has them fused, as every program has
        guard_fusion.fuse(kernel)


def as_written(code: CodeType) -> CodeType:
    """The code of a function as its file has it, whether it has been fused or not."""
    return guard_fusion._compiled(guard_fusion._source(code), code)


def differences(trace: Trace, stood: list[Stood]) -> tuple[Counter[str], list[str]]:
    """The number of events of each kind within one of our functions, and those whose lit line differs."""
    asked: Counter[str] = Counter()
    wrong = []
    for each, standing in zip(trace, stood, strict=False):
        view, code = source_at(trace, each.seq), source_view._code(trace, each.seq)
        functions = (line for file, first, line in standing if (file, first) == (view.running, view.running_first))
        line = next(functions, 0)
        if code is not None and code.seq != each.seq and line:
            where = "generated" if "/generated/" in view.running else "by hand"
            asked[f"{type(each).__name__} {where}"] += 1
            if view.running_line != line:
                wrong.append(f"{type(each).__name__} {where}: {view.running}:{view.running_line}, not {line}")
    return asked, wrong


def run_and_look(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], list[str]]:
    program = Run(model, PROGRAMS[name])
    return differences(*in_new_thread(lambda: recorded(monkeypatch, program.whole)))


def test_every_line_of_the_founding_program_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, wrong = run_and_look(FOUNDING, monkeypatch)
    assert asked["Dispatched generated"] > 20
    assert wrong == []


@pytest.mark.long
def test_the_lines_of_many_programs_are_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    wrong: list[str] = []
    for name in SAMPLE:
        found, differing = run_and_look(name, monkeypatch)
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
        for each in trace:
            if isinstance(each, ev.Dispatched) and source_view._code(trace, each.seq) is not None:
                assert source_at(trace, each.seq).running_line, (name, each)

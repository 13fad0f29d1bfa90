"""How a step's operator was registered, opened from the stepper and printed as a view."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.registration.lit_table import lit_table
from dispatchviz.explain.cells.registration.program_registrations import history_at, history_here, operator_here
from dispatchviz.running.program import run
from dispatchviz.testing import call
from dispatchviz.views.details.registration_rows import history_rows
from tests.steps import line, step

from .screens import Reader, read

PROGRAM = """\
import torch
x = torch.ones(2, 2, requires_grad=True)
lib = torch.library.Library("mine", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
aten = torch.library.Library("aten", "IMPL")
aten.impl("mul.Tensor", torch.library.fallthrough_kernel, "AutogradCPU")
torch.ops.mine.twice(x)
aten._destroy()

@torch.library.custom_op("mine::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3

thrice(x)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path = tmp_path_factory.mktemp("registration") / "program.py"
    path.write_text(PROGRAM)
    return run(str(path)).trace


@pytest.mark.parametrize("operator", ["mine::twice", "mine::thrice", "aten::mul.Tensor"])
def test_what_is_played_back_is_what_the_program_did(trace: Trace, operator: str) -> None:
    """The trace has the cells that changed when it ran."""
    history = history_at(trace, operator, len(trace) - 1)
    assert history is not None
    own = [each for each in history.steps if each.step >= 0 and each.kind != "definition"]
    assert own
    for each in own:
        after = trace[each.step + 1]
        happened = after.cells if isinstance(after, ev.CellsRecomputed) else ()
        assert sorted(key for changed in each.changes for key in changed.keys) == sorted(happened), each


def test_the_history_goes_as_far_as_the_step(trace: Trace) -> None:
    defined = trace.steps_of(ev.OperatorDefined)[0]
    assert history_at(trace, "mine::twice", defined - 1) is None
    history = history_at(trace, "mine::twice", defined)
    assert history is not None
    assert (history.steps[-1].kind, len(history.steps)) == ("definition", 39)
    assert history.steps[-1].block == 'lib.define("twice(Tensor x) -> Tensor")'
    assert history.steps[-1].place.endswith("program.py:4")
    table = lit_table(history, 39)
    assert table.kept == ()
    assert "AutogradCPU" not in table.empty


def test_one_backend_alone_is_skipped(trace: Trace) -> None:
    registered = trace.steps_of(ev.KernelRegistered)[1]
    text = "\n".join(row.plain for row in history_rows(trace, registered, 100))
    assert 'aten.impl("mul.Tensor", torch.library.fallthrough_kernel, "AutogradCPU")' in text
    assert "setOperatorHasFallthroughForKey(AutogradCPU, true): the key leaves the mask, calls skip it." in text
    assert "nonFallthroughKeysPerBackend_ of its backend, CPU 0x3fd7386bfbffffff, the 15" in text
    assert "In the end 96 of 137 cells hold a kernel" in text


def test_capital_h_plays_the_registrations_of_the_steps_operator(trace: Trace) -> None:
    async def story(reader: Reader) -> None:
        await reader.press("H")
        assert reader.sees("mine::twice: registration 39 of 40", 'lib.define("twice(Tensor x) -> Tensor")')
        await reader.press("right")
        assert reader.sees("registration 40 of 40", 'lib.impl("twice", lambda x: x * 2,', "Changed now", "● 91 cells")
        await reader.press("G", "N", "g")
        assert reader.sees("registration 1 of 40", "The operator has no table yet.")
        await reader.press("n", "H")
        assert not reader.sees("registration 39")
        assert reader.sees("Steps")

    read(trace, story, step=step(trace, call("mine::twice")))


def test_a_line_that_registers_something_is_about_that_operator(trace: Trace) -> None:
    assert operator_here(trace, line(trace, 4)) == operator_here(trace, line(trace, 5)) == "mine::twice"
    assert operator_here(trace, line(trace, 7)) == "aten::mul.Tensor"
    assert operator_here(trace, line(trace, 3)) == ""

    async def story(reader: Reader) -> None:
        await reader.press("H")
        assert reader.sees("mine::twice: registration 40 of 40", "lib.impl")

    read(trace, story, step=line(trace, 5))


def test_lines_in_a_block_of_with_and_lines_that_call_a_function_are_over_at_their_end(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("""\
import torch
lib = torch.library.Library("mine", "DEF")
def define():
    lib.define("twice(Tensor x) -> Tensor")
define()
with torch.no_grad():
    lib.impl("twice", lambda x: x * 2, "CPU")
""")
    trace = run(str(path)).trace
    for at, kind in ((line(trace, 5), "definition"), (line(trace, 7), "kernel")):
        assert operator_here(trace, at) == "mine::twice"
        history = history_here(trace, at)
        assert history is not None
        assert history.steps[-1].kind == kind


def test_a_fallback_says_that_it_is_for_all_operators(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('import torch\ntorch.library.Library("_", "IMPL").fallback(lambda op, *a: None, "PrivateUse1")\n')
    trace = run(str(path)).trace
    registered, _ = trace.steps_of(ev.KernelRegistered)  # and that it is taken back
    text = [row.plain for row in history_rows(trace, registered, 80)]
    assert text == ["A fallback is for all operators: the history of each has it, at a call of one."]


def test_a_step_without_an_operator_says_so(trace: Trace, tmp_path: Path) -> None:
    assert [row.plain for row in history_rows(trace, 0, 80)] == ["No operator runs at this step."]

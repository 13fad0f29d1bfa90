"""Tests of screens over the stepper: tracebacks, then and now, registrations, generated code."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import KeySetComputed
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.registration.program_registrations import history_at, history_here, operator_here
from dispatchviz.explain.cells.registration.registration_history import lit_table
from dispatchviz.explain.codegen.operator_at_step import operator_at
from dispatchviz.explain.sentences.then_and_now.all_entries import REASONS, STATEMENTS
from dispatchviz.running.program import run
from dispatchviz.testing import call, node_ran, redispatch
from dispatchviz.views.details.registration_rows import history_rows
from dispatchviz.views.details.then_and_now_rows import LOOKS, reason_rows, statement_rows
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from tests.explain.programs import traced
from tests.steps import line, step

from .screens import stepper
from .synthetic import forum


async def test_key_t_opens_the_traceback_of_an_error() -> None:
    async with stepper(traced("import torch\nx = torch.ones(2)\nx + torch.ones(3)\n"), size=(80, 24)) as reader:
        assert reader.sees("stopped here with an error: S back  t traceback")
        await reader.press("t")
        assert reader.sees("Traceback (most recent call last):", "line 3, in <module>", "x + torch.ones(3)")
        assert reader.sees("RuntimeError: The size of tensor a (2) must match")
        await reader.press("t")
        assert not reader.sees("Traceback")


async def test_missing_error_or_generated_code_is_explained() -> None:
    async with stepper(traced("import torch\n")) as reader:
        await reader.press("t")
        assert reader.sees("No error at this step, and no error ended the program")
        await reader.press("v")
        assert reader.sees("No operator runs at this step")


@pytest.mark.parametrize("width", [20, 76, 146])
def test_every_statement_fits_into_the_width(width: int) -> None:
    for entries, rows in ((STATEMENTS, statement_rows(forum(), 0, width)), (REASONS, reason_rows(forum(), 0, width))):
        assert sorted(row.key for row in rows if row.key) == sorted(entry.ident for entry in entries)
        texts = [row for row in rows if not row.key and all(role != "title" for _, role in row.spans)]
        assert max(row.width for row in texts) <= width
        text = "".join(row.plain for row in rows)
        assert all(entry.source.name.replace(" ", "") in text.replace(" ", "") for entry in entries)


def test_old_and_new_statements_are_side_by_side_if_they_fit() -> None:
    wide = [row.plain for row in statement_rows(forum(), 0, 100)]
    assert any("2020: " in row and "2.14: " in row for row in wide)
    narrow = [row.plain for row in statement_rows(forum(), 0, 60)]
    assert not any("2020: " in row and "2.14: " in row for row in narrow)


def test_every_verdict_has_its_own_sign() -> None:
    assert len({sign for sign, _ in LOOKS.values()}) == len(LOOKS)
    assert {statement.verdict for statement in STATEMENTS} == LOOKS.keys()


async def test_key_opens_statements_and_reasons_that_lead_to_steps() -> None:
    trace = forum()
    at = step(trace, redispatch("aten::add.Tensor"))
    async with stepper(trace, size=(80, 24), step=at) as reader:
        await reader.press("Y")
        assert reader.sees("Older articles and PyTorch today", "Tab: why", "At this step")
        assert reader.sees("▶ ≠ How the backend is called  no longer true", "Nothing is computed again", "2020: ")
        await reader.press("tab")
        assert reader.sees("Why PyTorch works this way", "Tab: articles", "▶ Why redispatch, and not call again?")
        await reader.press("end")
        assert reader.sees("shown by: dispatchviz run")
        await reader.press("enter")
        assert reader.at == at
        assert reader.sees("No step near this one shows it")
        await reader.press("Y", "down", "down", "down", "down", "enter")
        assert reader.at != at
        assert reader.sees("Steps")
        await reader.press("Y", "Y")
        assert not reader.sees("Older articles and PyTorch today")


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
    return trace_of(tmp_path_factory.mktemp("registration"), PROGRAM)


@pytest.mark.parametrize("operator", ["mine::twice", "mine::thrice", "aten::mul.Tensor"])
def test_history_contains_the_registrations_of_the_program(trace: Trace, operator: str) -> None:
    """The trace has the table entries that changed when it ran."""
    history = history_at(trace, operator, len(trace) - 1)
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
    assert (history.steps[-1].kind, len(history.steps)) == ("definition", 39)
    assert history.steps[-1].block == 'lib.define("twice(Tensor x) -> Tensor")'
    assert history.steps[-1].place.endswith("program.py:4")
    table = lit_table(history, 39)
    assert table.kept == ()
    assert "AutogradCPU" not in table.empty


def test_fallthrough_for_one_backend_needs_a_mask_per_backend(trace: Trace) -> None:
    registered = trace.steps_of(ev.KernelRegistered)[1]
    text = "\n".join(row.plain for row in history_rows(trace, registered, 100))
    assert 'aten.impl("mul.Tensor", torch.library.fallthrough_kernel, "AutogradCPU")' in text
    assert (
        "setOperatorHasFallthroughForKey(AutogradCPU, true): the key is removed from the mask, so calls skip it."
        in " ".join(text.split())
    )
    assert "nonFallthroughKeysPerBackend_ of its backend, CPU 0x3fd7386bfbffffff, the 15" in text
    assert "In the end, 96 of the 137 table entries hold a kernel" in text


async def test_capital_h_steps_through_registrations_of_the_operator(trace: Trace) -> None:
    async with stepper(trace, step=step(trace, call("mine::twice"))) as reader:
        await reader.press("H")
        assert reader.sees("mine::twice: registration 39 of 40", 'lib.define("twice(Tensor x) -> Tensor")')
        await reader.press("right")
        assert reader.sees("registration 40 of 40", 'lib.impl("twice", lambda x: x * 2,', "Changed now", "● 91 entries")
        await reader.press("G", "N", "g")
        assert reader.sees("registration 1 of 40", "The operator has no table yet.")
        await reader.press("n", "H")
        assert not reader.sees("registration 39")
        assert reader.sees("Steps")


def test_a_line_that_registers_something_is_about_that_operator(trace: Trace) -> None:
    assert operator_here(trace, line(trace, 4)) == operator_here(trace, line(trace, 5)) == "mine::twice"
    assert operator_here(trace, line(trace, 7)) == "aten::mul.Tensor"
    assert operator_here(trace, line(trace, 3)) == ""
    assert [row.plain for row in history_rows(trace, 0, 80)] == ["No operator runs at this step."]


def test_lines_in_with_blocks_and_calling_lines_have_an_end(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        """\
import torch
lib = torch.library.Library("mine", "DEF")
def define():
    lib.define("twice(Tensor x) -> Tensor")
define()
with torch.no_grad():
    lib.impl("twice", lambda x: x * 2, "CPU")
""",
    )
    for at, kind in ((line(trace, 5), "definition"), (line(trace, 7), "kernel")):
        assert operator_here(trace, at) == "mine::twice"
        assert history_here(trace, at).steps[-1].kind == kind


def test_fallback_has_no_history_of_its_own(tmp_path: Path) -> None:
    program = 'import torch\ntorch.library.Library("_", "IMPL").fallback(lambda op, *a: None, "PrivateUse1")\n'
    trace = trace_of(tmp_path, program)
    registered, _ = trace.steps_of(ev.KernelRegistered)  # the second one undoes it
    text = [row.plain for row in history_rows(trace, registered, 80)]
    assert text == ["A fallback applies to all operators. Go to a call to see it in the history of that operator."]


CODEGEN_PROGRAM = """\
import torch
x = torch.ones(2, 2, requires_grad=True)
z = torch.add(x, 1)
lib = torch.library.Library("mine", "DEF")
lib.define("nothing(Tensor x) -> Tensor")
lib.impl("nothing", lambda x: x.clone(), "CompositeImplicitAutograd")
torch.ops.mine.nothing(x)
z.sum().backward()
"""


def trace_of(folder: Path, program: str = CODEGEN_PROGRAM) -> Trace:
    (folder / "program.py").write_text(program)
    return run(str(folder / "program.py")).trace


def test_a_step_has_an_operator(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)
    add = step(trace, call("aten::add.Tensor"))
    assert operator_at(trace, add) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, KeySetComputed, within=add)) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, node_ran("AddBackward0"))) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, node_ran("SumBackward0"))) == "aten::sum"
    assert operator_at(trace, line(trace, 3)) == "aten::add.Tensor"  # of the first call that it makes
    assert operator_at(trace, line(trace, 1)) == ""  # import torch


async def test_v_opens_the_code_of_the_step_and_closes_it(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)
    async with stepper(trace, step=step(trace, call("aten::add.Tensor"))) as reader:
        await reader.press("v")
        assert reader.sees("Generated code of aten::add.Tensor", "structured_delegate: add.out")
        await reader.press("G")
        assert reader.sees("RegisterSparseCsrCPU_0.cpp:391")
        await reader.press("f")
        assert reader.sees("torchgen's files for aten::add.Tensor", "THPVariable_add: the function that Python calls")
        await reader.press("enter")
        assert reader.sees("python_torch_functions_2.cpp: PyTorch 2.14.1 for aten::add.Tensor", "HANDLE_TH_ERRORS")
        await reader.press("q", "q")
        assert reader.sees("Generated code of aten::add.Tensor", "(f files, K classes, Esc or q closes)")
        await reader.press("K")
        assert reader.sees("Structured kernel of add.Tensor, add_.Tensor, add.out", "└ at::TensorIteratorBase")
        await reader.press("G")
        assert reader.sees("at::namedinference::propagate_names")
        await reader.press("q")
        assert reader.sees("Generated code of aten::add.Tensor")
        await reader.press("q")
        assert reader.sees("aten::add.Tensor", "Steps")
        assert not reader.sees("Generated code")


async def test_operator_of_the_program_has_no_generated_code(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)
    async with stepper(trace, step=step(trace, call("mine::nothing"))) as reader:
        await reader.press("v")
        assert reader.sees("mine::nothing is not an operator of PyTorch")


def test_marks_become_roles() -> None:
    console = MarkedConsole(80)
    text = f"a {console.styled('b', 'cyan', 'bold')} [c] {console.styled('d')}"
    assert [span for span in spans(text) if span[0]] == [("a ", ""), ("b", "code.keyword"), (" [c] d", "")]

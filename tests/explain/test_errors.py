"""Errors of writes in place, and the message about a cell without a kernel."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.diagnosis.messages.error_message import ErrorAnswer, explain
from dispatchviz.explain.diagnosis.messages.error_parser import find_message
from dispatchviz.explain.diagnosis.messages.table import pasted
from dispatchviz.explain.graph.version_counters import invalidated_by
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.running.program import Outcome, run
from dispatchviz.trace import Trace
from dispatchviz.views.details.traceback_rows import traceback_at
from tests.explain.programs import traced
from truth import records

EXAMPLES = Path(__file__).parents[2] / "examples"
REFUSED = "one of the variables needed for gradient computation has been modified by an inplace operation"


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.chdir(EXAMPLES.parent)
    return run("examples/inplace_error.py", (), io.StringIO())


def bumps(trace: Trace) -> list[ev.VersionBumped]:
    return [event for event in trace if isinstance(event, ev.VersionBumped)]


def warned(trace: Trace) -> list[str]:
    """The warnings about saved tensors, over all in-place changes."""
    return [saved.name for bump in bumps(trace) for saved in invalidated_by(trace, bump)]


def test_the_program_ends_in_pytorchs_error(outcome: Outcome) -> None:
    assert outcome.status == 1
    assert f"line 9: RuntimeError: {REFUSED}: [torch.FloatTensor [3]], which is output 0 of Add, is at version 1; " in (
        outcome.error_message
    )


def test_the_error_names_the_saving_node_the_line_and_the_versions(outcome: Outcome) -> None:
    error = next(e for e in outcome.trace if isinstance(e, ev.ErrorRaised))
    reason = (
        "why  MulBackward0 (n2), made on line 6 (z = y * y), saved y (as other and self) at version 0. Line 7 "
        "(y.add_(1)) then changed y in place with add_. y went from version 0 to 1."
    )
    told = why_here(outcome.trace, error.seq)
    assert told.startswith(reason)
    assert f'PyTorch says  "{" ".join(error.message.split())}"' in told  # the message is whole
    assert why_here(outcome.trace, len(outcome.trace) - 1) == told


def test_a_change_through_a_view_is_noticed_too() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y.exp()
        z.detach().view(3).mul_(2)
    assert warned(trace) == ["result"]


def test_change_of_an_unsaved_tensor_gives_no_warning() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.add_(1)  # mul keeps the number and not its result
        z = (y * y).sum()
        z.backward()
        y.detach().add_(1)  # the backward has let go of y
    assert len(bumps(trace)) > 1
    assert warned(trace) == []


def test_data_has_a_version_of_its_own() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y * y
        y.data.add_(1)
    assert len(bumps(trace)) == 1
    assert warned(trace) == []
    z.sum().backward()


def test_a_second_change_is_not_blamed() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.add_(1)
        with pytest.raises(RuntimeError, match=REFUSED):
            y.sum().backward()
    assert [len(invalidated_by(trace, bump)) for bump in bumps(trace)] == [1, 0]


@pytest.mark.filterwarnings("ignore:demo..double. an autograd kernel was not registered")
def test_the_trace_shows_where_the_gradient_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    output = io.StringIO()
    outcome = run(os.path.join("examples", "custom_operator.py"), (), output)
    assert outcome.status == 0
    assert output.getvalue() == "True\ntensor([1., 1., 1.])\n"
    trace = outcome.trace
    entered = next(e for e in trace if isinstance(e, ev.KernelEntered) and e.kernel == "autograd_fallback")
    said = why_here(trace, entered.seq)
    assert "a result without a history gets a Node that only warns" in said
    assert "The gradient of demo::double is lost there" in said
    node = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.name.endswith("WarnNotImplemented"))
    assert "demo::double has no autograd kernel, so its derivative is not known" in why_here(trace, node.seq)


RAISES = """\
    import torch

    def inner(x):
        return x + torch.ones(3)

    inner(torch.ones(2))
"""
HANDLED = RAISES.replace(
    "    inner(torch.ones(2))", "    try:\n        inner(torch.ones(2))\n    except RuntimeError:\n        pass"
)
MESSAGE = "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"


def test_printed_traceback_is_kept() -> None:
    trace = traced(RAISES)
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    rows = traceback_at(trace, last.seq).splitlines()
    assert rows == last.traceback.splitlines()
    assert rows[0] == "Traceback (most recent call last):"
    assert [row.rpartition(", ")[2] for row in rows if row.startswith("  File")] == ["in <module>", "in inner"]
    assert "dispatchviz" not in "".join(rows)
    assert rows[-1] == MESSAGE


def test_every_step_leads_to_the_diagnosis() -> None:
    trace = traced(RAISES)
    (raised,) = trace.steps_of(ev.ErrorRaised)
    assert traceback_at(trace, 0) == traceback_at(trace, raised) == traceback_at(trace, len(trace) - 1)


def test_an_error_that_was_handled() -> None:
    trace = traced(HANDLED)
    (raised,) = trace.steps_of(ev.ErrorRaised)
    rows = traceback_at(trace, raised).splitlines()
    assert [row.strip() for row in rows[2::2][:2]] == ["inner(torch.ones(2))", "return x + torch.ones(3)"]
    assert rows[-1] == MESSAGE
    assert traceback_at(trace, 0) == ""


def test_an_older_trace_has_the_lines_of_its_last_step() -> None:
    trace = traced("import torch\nraise ValueError('x')\n")
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    older = type(trace)(
        trace.header, (*trace[:-1], ev.ProgramRaised(last.seq, last.parent, "ValueError", "x", last.file, 2))
    )
    rows = traceback_at(older, last.seq).splitlines()
    assert rows[1].endswith("line 2, in <module>")
    assert rows[-1] == "ValueError: x"


RECORDED = records.read("missing_kernels")["texts"]
REGISTRY = pytorch("cpu")

MOBILE_1_12 = """
  WARN  Unhandled Promise Rejection: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend.
This could be because the operator doesn't exist for this backend. 'aten::empty_strided' is only available for these
backends: [Dense, Negative, UNKNOWN_TENSOR_TYPE_ID, UNKNOWN_TENSOR_TYPE_ID, SparseCPU].
CPU: registered at /project/build_ios/aten/src/ATen/RegisterCPU.cpp:37386 [kernel]
BackendSelect: registered at /project/build_ios/aten/src/ATen/RegisterBackendSelect.cpp:726 [kernel]
ADInplaceOrView: fallthrough registered at /project/aten/src/ATen/core/VariableFallbackKernel.cpp:64 [backend fallback]
"""
OLDEST = (
    "RuntimeError: Could not run 'aten::thnn_conv2d_forward' with arguments from the 'QuantizedCPUTensorId' backend. "
    "'aten::thnn_conv2d_forward' is only available for these backends: [CPUTensorId, VariableTensorId]."
)
EXTENSION = (
    "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend. This could be because ... "
    "'torchvision::nms' is only available for these backends: [CPU, Meta, BackendSelect, AutogradCPU, AutogradCUDA]."
)


def answer(text: str) -> ErrorAnswer:
    message = find_message(pasted(text))
    assert message is not None
    return explain(message, REGISTRY)


def group(found: ErrorAnswer, title: str) -> tuple[str, ...]:
    return next(each.keys for each in found.groups if each.title == title)


@pytest.mark.record("missing_kernels")
def test_a_quantized_tensor() -> None:
    found = answer(RECORDED["quantized"])
    assert (found.kind, found.operator, found.key) == ("no kernel", "aten::exp.out", "QuantizedCPU")
    assert group(found, "Kernels of its own") == ("CPU", "Meta")
    assert "AutogradCPU" in group(found, "Autograd")
    assert "Python" in group(found, "Fallbacks")
    assert "BackendSelect" in group(found, "Skipped")
    assert "quantized tensor" in found.causes[0]
    assert "dequantize()" in found.todo[0]
    assert "has no kernel of aten::exp.out for QuantizedCPU either" in found.now


@pytest.mark.record("missing_kernels")
def test_every_line_of_the_list_is_in_one_group() -> None:
    message = find_message(RECORDED["quantized"])
    assert message is not None
    told = [key for each in explain(message, REGISTRY).groups for key in each.keys]
    assert sorted(told) == sorted(message.keys)
    assert len(message.lines) == len(message.keys)


@pytest.mark.record("missing_kernels")
@pytest.mark.parametrize(
    ("case", "kind", "operator", "says"),
    [
        ("cuda factory", "no kernel", "aten::empty.memory_format", "built without CUDA"),
        ("sparse", "no kernel", "aten::i0", "sparse (COO)"),
        ("meta", "meta", "recorded::on_cpu", "without computing it"),
        ("empty list", "no tensors", "recorded::of_list", "an empty list"),
        ("ambiguous", "ambiguous", "recorded::both", "an operator that has a composite"),
    ],
)
def test_missing_kernel_error_names_cause_and_fix(case: str, kind: str, operator: str, says: str) -> None:
    found = answer(f"Traceback (most recent call last):\n  File 'x.py', line 3\n{RECORDED[case]}\nmore output\n")
    assert (found.kind, found.operator) == (kind, operator)
    assert says in found.causes[0]
    assert found.todo


@pytest.mark.record("missing_kernels")
def test_a_garbled_list_of_an_older_release() -> None:
    found = answer(MOBILE_1_12)
    assert "garbled" in found.groups[0].meaning
    assert group(found, "Kernels of its own") == ("CPU",)


@pytest.mark.record("missing_kernels")
def test_an_old_release_with_other_names() -> None:
    found = answer(OLDEST)
    assert "QuantizedCPUTensorId, a key up to 1.5, is called QuantizedCPU now." in found.happened
    assert "CPUTensorId" in group(found, "Kernels of its own")
    assert "quantized" in found.causes[0]


@pytest.mark.record("missing_kernels")
def test_an_extension_without_cuda() -> None:
    found = answer(EXTENSION)
    assert "the package of the namespace torchvision" in found.causes[0]
    assert "has no operator torchvision::nms" in found.now


@pytest.mark.record("missing_kernels")
def test_a_backend_kernel_switched_the_composite_off() -> None:
    text = "Could not run 'aten::to.dtype' with arguments from the 'AutogradPrivateUse1' backend."
    found = answer(text)
    assert "disables the operator's composite kernel" in found.causes[0]
    assert "aten::_to_copy" in found.todo[1]


@pytest.mark.record("missing_kernels")
def test_escaped_newlines_of_a_log() -> None:
    assert answer(RECORDED["quantized"].replace("\n", "\\n")).groups == answer(RECORDED["quantized"]).groups


def test_text_without_missing_kernel_error_has_no_answer() -> None:
    assert find_message("ZeroDivisionError: division by zero") is None

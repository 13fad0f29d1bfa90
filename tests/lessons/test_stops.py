"""The names of stops: each form finds the step that it says, whatever else is in the trace."""

from __future__ import annotations

from functools import cache

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.lessons.stops import FORMS, UnknownStopError, step_named
from tests.explain.programs import traced

PROGRAM = """
import torch
x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
y = x * w
y = y * x
z = torch.ops.aten.add(y, w)
z.sum().backward()
x.data.add_(1)
try:
    torch.mm(x, w)
except RuntimeError:
    pass
"""


@cache
def trace() -> Trace:
    return traced(PROGRAM)


STOPS = {
    "`y = y * x`": "line 6  y = y * x",
    "z's Node": "Node AddBackward0, seq 2",
    "y's Node": "Node MulBackward0, seq 0",
    "last y's Node": "Node MulBackward0, seq 1",
    "w's AccumulateGrad": "AccumulateGrad (w) belongs to w",
    "w.grad": "w.grad (",
    "call mul": "call aten::mul.Tensor → AutogradCPU",
    "call mul in `y = y`": "call aten::mul.Tensor → AutogradCPU",
    "call add at AutogradCPU": "callBoxed aten::add.Tensor → AutogradCPU",
    "call add.Tensor": "callBoxed aten::add.Tensor → AutogradCPU",
    "call torch.mul": "call aten::mul.Tensor → AutogradCPU",
    "redispatch aten::add to CPU": "redispatch aten::add.Tensor → CPU",
    "key set of mul": "key set 0x1000010001",
    "skipped keys of mul": "skipped ADInplaceOrView, BackendSelect",
    "cell of mul at CPU": "cell 1 CPU: wrapper_CPU_mul_Tensor",
    "kernel VariableType::mul_Tensor": "kernel VariableType::mul_Tensor",
    "guard AutoDispatchBelowADInplaceOrView in `y = x`": "guard AutoDispatchBelowADInplaceOrView",
    "Node SumBackward0": "Node SumBackward0, seq 3",
    "second run MulBackward0": "run MulBackward0 (n0), seq 0",
    "error": "RuntimeError",
    "event VersionBumped in `x.data`": "version of",
}


@pytest.mark.parametrize(("name", "row"), STOPS.items())
def test_a_name_finds_its_step(name: str, row: str) -> None:
    assert row in label(trace(), step_named(trace(), name))


def test_every_form_is_tried_here() -> None:
    for form in FORMS:
        assert any(form.pattern.fullmatch(name.partition(" in `")[0].removeprefix("last ").removeprefix("second "))
                   for name in STOPS), form.written  # fmt: skip


def test_the_second_is_another_than_the_first() -> None:
    first, second, last = (step_named(trace(), f"{which}call mul") for which in ("", "second ", "last "))
    assert first < second < last
    assert step_named(trace(), "call mul in `y = y`") == second


def test_a_variable_names_the_node_of_the_moment() -> None:
    assert step_named(trace(), "first y's Node") < step_named(trace(), "last y's Node")
    made = trace()[step_named(trace(), "y's Node")]
    assert isinstance(made, ev.NodeCreated)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("q's Node", '"q\'s Node" does not happen; there is x, w, y, z'),
        ("call mull", "'call mull' does not happen; there is mul.Tensor"),
        ("seventh call mul", "'seventh call mul' names no stop; these do: `z = x + y`, z's Node"),
        ("second Node SumBackward0", "'second Node SumBackward0' does not happen: there is one such step"),
        ("event VersionBump", "there is no event VersionBump; near: VersionBumped"),
        ("redispatch add to CUDA", "'redispatch add to CUDA' does not happen; there is"),
        ("call mul in `nowhere`", "'call mul in `nowhere`' does not happen: there are six such steps in other lines"),
        ("47", "'47' names no stop"),
    ],
)
def test_what_means_no_step(name: str, said: str) -> None:
    with pytest.raises(UnknownStopError) as raised:
        step_named(trace(), name)
    assert str(raised.value).startswith(said)

"""Tests of the forum program in the stepper: the facts that a learner must be able to see."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.testing import call, event, node_created, node_ran, redispatch
from tests.steps import last_step, step

from .programs import example
from .screens import SIZES, Reader, stepper

FORUM = example("forum.py")
ADD = step(FORUM, call("aten::add.Tensor"))
GUARD = step(FORUM, ev.GuardEntered, within=ADD)
PASSED_ON = step(FORUM, redispatch(), within=GUARD)
SHOWN = {
    step(FORUM, ev.KeySetComputed, within=ADD): (
        "every ordinary CUDA tensor has this key from the moment it is made", "Only x requires grad.",
        "AutogradCUDA ■ ■ · · ■ ■ ◀ wins", "= left {AutogradCUDA, CUDA} → AutogradCUDA",
    ),
    step(FORUM, ev.FallthroughSkipped, within=ADD): (
        "ADInplaceOrView and BackendSelect", "fallthrough", "VariableFallbackKernel.cpp",
    ),
    step(FORUM, ev.KernelSelected, within=ADD): (
        "holds VariableType::add_Tensor", "reason autograd kernel registered to Autograd", "▶ Autograd taken",
    ),
    step(FORUM, node_created("AddBackward0")): (
        "AddBackward0", "grad_fn = nodes.AddBackward0()", "core/generated/variable_type.py",
    ),
    step(FORUM, ev.EdgesCollected, within=ADD): ("is empty, because y does not require grad", "AccumulateGrad (x)"),
    GUARD: ("AutoDispatchBelowADInplaceOrView", "autograd has already been handled"),
    PASSED_ON: (
        "0x1000010002 (AutogradCUDA, CUDA)", "after_autograd_keyset", "0x10002 (CUDA)", "received mask left",
    ),
    step(FORUM, ev.KernelEntered, within=PASSED_ON): (
        "wrapper_CUDA_add_Tensor", "core/generated/register_cpu_cuda.py wrapper_CUDA_add_Tensor",
    ),
    step(FORUM, node_ran("SumBackward0")): ("backward", "SumBackward0", "running", "waits for 1"),
    last_step(FORUM): ("AccumulateGrad (x)", "3rd: done"),
}  # fmt: skip
"""The texts that each step must show; line breaks do not count."""


def everything(reader: Reader) -> str:
    """The text of the screen and its panes, on one line."""
    panes = (row for pane in (2, 3, 4, 5, 6) for row in reader.app.view.panes[pane].plain)
    return " ".join(" ".join([*reader.app.view.query_one("#why").plain, *reader.screen, *panes]).split())


async def test_each_step_of_the_forum_question_is_explained() -> None:
    async with stepper(FORUM) as reader:
        for at, words in SHOWN.items():
            await reader.press("colon", *str(at), "enter")
            assert [word for word in words if word not in everything(reader)] == [], (at, reader.text)


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]])
async def test_a_step_of_each_kind_paints_at_every_size(size: tuple[int, int]) -> None:
    kinds = {type(event): event.seq for event in FORUM}
    async with stepper(FORUM, size) as reader:
        for at in sorted(kinds.values()):
            await reader.press("colon", *str(at), "enter")
            assert f"step {at} of {len(FORUM)}" in reader.screen[0]
            await reader.until(lambda at=at: f"▶ {at:>3} " in reader.text)


async def test_the_program_that_raises_opens_at_its_end() -> None:
    async with stepper(example("in_place_on_leaf.py")) as reader:
        assert reader.at == len(example("in_place_on_leaf.py")) - 1
        assert reader.sees("S back", "is a leaf that requires grad", "writes to it in place")


async def test_no_grad_screen_explains_the_missing_node() -> None:
    trace = example("no_grad.py")
    async with stepper(trace, step=step(trace, event(ev.NoNodeMade, why="grad mode is off"))) as reader:
        assert "no Node" in everything(reader)
        assert "grad mode is off" in everything(reader)

"""The founding program in the stepper: what a learner must be able to see, on the screen that they have."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.program import run
from dispatchviz.testing import call, event, node_created, node_ran, redispatch
from tests.steps import last_step, step

from .screens import SIZES, stepper

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def traced(name: str) -> Trace:
    return run(str(EXAMPLES / name)).trace


def the_add(trace: Trace) -> int:
    return step(trace, call("aten::add.Tensor"))


async def seen(at: int, *words: str, size: tuple[int, int] = (120, 40), program: str = "forum.py") -> None:
    """The screen at a step has these words; line breaks do not count."""
    async with stepper(traced(program), size, at) as reader:
        await reader.pilot.pause()
        why = " ".join(reader.app.view.query_one("#why").plain)
        everything = " ".join(
            [why, *reader.screen, *(row for pane in PANES for row in reader.app.view.panes[pane].plain)]
        )
        text = " ".join(everything.split())
        for word in words:
            assert word in text, (word, reader.text)


PANES = (2, 3, 4, 5, 6)


async def test_the_key_set_says_why_autograd_is_in_it_although_only_x_requires_grad() -> None:
    trace = traced("forum.py")
    at = step(trace, ev.KeySetComputed, within=the_add(trace))
    await seen(
        at,
        "every ordinary CUDA tensor has it from the moment it is made",
        "Only x requires grad, y does not",
        "AutogradCUDA ■ ■ · · ■ ■ ◀ wins",
        "= left {AutogradCUDA, CUDA} → AutogradCUDA",
    )


async def test_the_skipped_keys_and_whose_they_are() -> None:
    trace = traced("forum.py")
    at = step(trace, ev.FallthroughSkipped, within=the_add(trace))
    await seen(at, "ADInplaceOrView and BackendSelect", "fallthrough", "VariableFallbackKernel.cpp")


async def test_the_cell_holds_the_kernel_of_the_alias() -> None:
    trace = traced("forum.py")
    at = step(trace, ev.KernelSelected, within=the_add(trace))
    await seen(
        at, "holds VariableType::add_Tensor", "reason autograd kernel registered to Autograd", "▶ Autograd taken"
    )


async def test_the_node_the_empty_edge_and_the_generated_line() -> None:
    trace = traced("forum.py")
    made = step(trace, node_created("AddBackward0"))
    await seen(made, "AddBackward0", "grad_fn = nodes.AddBackward0()", "core/generated/variable_type.py")
    edges = step(trace, ev.EdgesCollected, within=the_add(trace))
    await seen(edges, "is empty, because y does not require grad", "AccumulateGrad (x)")


async def test_the_guard_the_redispatch_and_the_kernel() -> None:
    trace = traced("forum.py")
    guard = step(trace, ev.GuardEntered, within=the_add(trace))
    await seen(guard, "AutoDispatchBelowADInplaceOrView", "autograd has already been handled")
    passed_on = step(trace, redispatch(), within=guard)
    await seen(
        passed_on, "0x1000010002 (AutogradCUDA, CUDA)", "after_autograd_keyset", "0x10002 (CUDA)", "received mask left"
    )
    await seen(
        step(trace, ev.KernelEntered, within=passed_on),
        "wrapper_CUDA_add_Tensor",
        "core/generated/register_cpu_cuda.py wrapper_CUDA_add_Tensor",
    )


async def test_backward_shows_which_node_runs() -> None:
    trace = traced("forum.py")
    await seen(step(trace, node_ran("SumBackward0")), "backward", "SumBackward0", "running", "waits for 1")
    await seen(last_step(trace), "AccumulateGrad (x)", "3rd: done")


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]])
async def test_a_step_of_each_kind_paints_at_every_size(size: tuple[int, int]) -> None:
    trace = traced("forum.py")
    kinds = {type(event): event.seq for event in trace}
    async with stepper(trace, size) as reader:
        for at in sorted(kinds.values()):
            await reader.press("colon", *str(at), "enter")
            assert f"step {at} of {len(trace)}" in reader.screen[0]
            await reader.until(lambda at=at: f"▶ {at:>3} " in reader.text)


async def test_the_program_that_raises_opens_at_its_end() -> None:
    async with stepper(traced("in_place_on_leaf.py")) as reader:
        assert reader.at == len(traced("in_place_on_leaf.py")) - 1
        assert reader.sees("S back", "RuntimeError ended the program at line", "An in-place operator makes its Node")


async def test_under_no_grad_the_screen_says_why_there_is_no_node() -> None:
    trace = traced("no_grad.py")
    await seen(
        step(trace, event(ev.NoNodeMade, why="grad mode is off")), "no Node", "grad mode is off", program="no_grad.py"
    )

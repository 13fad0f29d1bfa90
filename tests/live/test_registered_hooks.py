"""Hooks of tensors in a recording of an installed PyTorch: as they are registered and removed."""

from __future__ import annotations

import pytest

from dispatchviz.cli.check_runs import two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.engines import engine_named
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.program import run
from dispatchviz.program_source import Code

pytestmark = pytest.mark.torch

PROGRAM = """
import torch
def doubles(gradient):
    return gradient * 2
def looks(leaf):
    pass
x = torch.ones(2, requires_grad=True)
y, other = (x * 3).unbind()
handle = other.register_hook(doubles)
torch.nn.Linear(2, 2).register_forward_hook(print)
x.register_hook(lambda gradient: None)
y.grad_fn.register_hook(lambda *gradients: None).remove()
with x.register_post_accumulate_grad_hook(looks):
    (y + other).backward()
handle.remove()
handle.remove()
"""


@pytest.fixture(scope="module")
def both() -> tuple[Trace, Trace]:
    """What both see of the program: the model, PyTorch."""
    checked = two_runs(Code(PROGRAM), ())
    assert checked.same
    return seen_by_both(checked.model), seen_by_both(checked.torch)


def hooks(trace: Trace) -> list[tuple[object, ...]]:
    """What is told of them."""
    registered = [e for e in trace if isinstance(e, ev.HookRegistered)]
    removed = [(e.hook,) for e in trace if isinstance(e, ev.HookRemoved)]
    return [*[(e.kind, e.function, e.hook, e.output_nr, e.node is None) for e in registered], *removed]


def test_registered_and_removed_as_in_the_model(both: tuple[Trace, Trace]) -> None:
    model, torch = both
    told = [
        ("tensor pre hook", "doubles", 0, 1, False),
        ("tensor pre hook", "<lambda>", 1, 0, True),
        ("post-accumulate hook", "looks", 2, 0, True),
        (2,),
        (0,),
    ]
    assert hooks(model) == hooks(torch) == told


def test_nothing_is_left_behind(both: tuple[Trace, Trace]) -> None:
    from torch.utils.hooks import RemovableHandle

    before = dict(vars(RemovableHandle))
    trace = run(Code(PROGRAM), engine=engine_named("torch")).trace
    after = dict(vars(RemovableHandle))
    assert after.pop("next_id") > before.pop("next_id")
    assert after == before
    assert hooks(seen_by_both(trace)) == hooks(both[1])


def test_a_node_has_the_hooks_of_its_tensors(both: tuple[Trace, Trace]) -> None:
    """Until they are removed."""
    trace = both[1]
    registered = next(e for e in trace if isinstance(e, ev.HookRegistered))
    assert registered.node is not None
    assert hooks_of(trace, registered.node, None, registered.seq) == [registered]
    assert hooks_of(trace, registered.node, None, len(trace) - 1) == []


def test_hooks_before_another_node_stay_with_theirs() -> None:
    """A tensor that is written to begins with no hooks; to register one on a view never makes a Node."""
    written = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 1\nv = y[:1]\ny.register_hook(len)\n"
    written += "v.register_hook(len)\ny.mul_(3)\ny.register_hook(len)\nv.register_hook(len)\n"
    trace = run(Code(written), engine=engine_named("torch")).trace
    nodes = {e.node: e.name for e in trace if isinstance(e, ev.NodeCreated)}
    keepers = [e.node for e in trace if isinstance(e, ev.HookRegistered)]
    assert [nodes[node] for node in keepers if node is not None] == [
        "MulBackward0", "SliceBackward0", "MulBackward0", "SliceBackward0",
    ]  # fmt: skip
    assert keepers[0] != keepers[2]
    assert keepers[1] == keepers[3]

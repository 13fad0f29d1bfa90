"""Hooks in a recording of an installed PyTorch: as they are registered and removed."""

from __future__ import annotations

import pytest

from dispatchviz.cli.check_runs import two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.checked import Checked
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code

pytestmark = pytest.mark.torch


def runs(program: str) -> Checked:
    """On the model and on PyTorch."""
    return two_runs(Code(program), ())


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
    checked = runs(PROGRAM)
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
        ("post hook", "<lambda>", 2, 0, False),
        ("post-accumulate hook", "looks", 3, 0, True),
        (2,),
        (3,),
        (0,),
    ]
    assert hooks(model) == hooks(torch) == told


def test_nothing_is_left_behind(both: tuple[Trace, Trace]) -> None:
    import torch
    from torch.utils.hooks import RemovableHandle

    mixin, tensor = torch.autograd.function._HookMixin, dict(vars(torch.Tensor))
    before, registering = dict(vars(RemovableHandle)), vars(mixin)["_register_hook"]
    trace = run(Code(PROGRAM), engine=engine_named("torch")).trace
    after = dict(vars(RemovableHandle))
    assert after.pop("next_id") > before.pop("next_id")
    assert after == before
    assert vars(mixin)["_register_hook"] is registering
    assert dict(vars(torch.Tensor)) == tensor
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


ON_NODES = """
import torch
def before(gradients): pass
def behind(*gradients): pass
x, leaf = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y = x * leaf
node, accumulator = y.grad_fn, (x * 1).grad_fn.next_functions[0][0]
handles = [node.register_prehook(before), accumulator.register_prehook(before), node.register_hook(behind)]
y.sum().backward(retain_graph=True)
handles += [node.register_prehook(before), node.next_functions[1][0].register_hook(behind)]
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, gradient): return gradient * 2
twice = Twice.apply(y)
handles += [twice.grad_fn.register_prehook(before), twice.grad_fn.register_hook(behind)]
for handle in reversed(handles):
    handle.remove()
"""


def test_each_node_has_its_own() -> None:
    """As the engine has put ours there meanwhile, and the object that Python has of a Node is old or new."""
    checked = runs(ON_NODES)
    assert checked.same
    trace = checked.torch
    names = {e.node: e.name for e in trace if isinstance(e, ev.NodeCreated)}
    made = [e.node for e in trace if isinstance(e, ev.AccumulatorMade)]
    leaves = {node: place for place, node in enumerate(made)}
    told = [
        (e.kind, names[e.node], leaves.get(e.node))
        for e in trace
        if isinstance(e, ev.HookRegistered) and e.node is not None
    ]
    accumulator = "torch::autograd::AccumulateGrad"
    assert told == [
        ("pre hook", "MulBackward0", None),
        ("pre hook", accumulator, 0),
        ("post hook", "MulBackward0", None),
        ("pre hook", "MulBackward0", None),
        ("post hook", accumulator, 1),
        ("pre hook", "TwiceBackward", None),
        ("post hook", "TwiceBackward", None),
    ]
    assert [e.hook for e in trace if isinstance(e, ev.HookRemoved)] == [6, 5, 4, 3, 2, 1, 0]


RETAINED = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
first, second = (y * 3).unbind()
for tensor in x, y, y, second:
    tensor.retain_grad()
torch.Tensor.retain_grad(first)
z = y * 1
(first + second + z.sum()).backward(inputs=[y, z, z])
print(y.grad, z.grad)
"""


def test_tensors_retain_their_gradient_once() -> None:
    """NB: a call by way of the class is PyTorch's own."""
    trace = run(Code(RETAINED), engine=engine_named("torch")).trace
    names = {e.node: e.name for e in trace if isinstance(e, ev.NodeCreated)}
    told = [
        (e.kind, names[e.node], e.output_nr) for e in trace if isinstance(e, ev.HookRegistered) and e.node is not None
    ]
    assert told == [
        ("retains-grad hook", "MulBackward0", 0),
        ("retains-grad hook", "UnbindBackward0", 1),
        ("retains-grad hook", "MulBackward0", 0),
    ]
    assert runs(RETAINED.replace("torch.Tensor.retain_grad(first)\n", "")).same


WRITTEN_TO = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
y.mul_(3)
base = x * 1
view = base[:1]
view.retain_grad()
base.retain_grad()
view.mul_(2)
(y.sum() + base.sum() + view.sum()).backward()
print(y.grad, base.grad, view.grad)
"""


def test_a_retained_gradient_goes_along_to_another_node() -> None:
    checked = runs(WRITTEN_TO)
    assert checked.same
    seen = seen_by_both(checked.torch)
    names = {e.node: e.name for e in seen if isinstance(e, ev.NodeCreated)}
    assert [names[e.node] for e in seen if isinstance(e, ev.HookRegistered) and e.moved and e.node is not None] == [
        "MulBackward0", "torch::autograd::CopySlices", "AsStridedBackward0",
    ]  # fmt: skip

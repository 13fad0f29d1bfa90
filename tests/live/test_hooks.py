"""Hooks in a recording of an installed PyTorch: when they are registered and removed, and when they run."""

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


def runs(program: str) -> Checked:
    """Return the runs on the model and on PyTorch."""
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
    """Return the traces of the program on the model and on PyTorch."""
    checked = runs(PROGRAM)
    assert checked.same
    return seen_by_both(checked.model), seen_by_both(checked.torch)


def hooks(trace: Trace) -> list[tuple[object, ...]]:
    """Return the events about hooks."""
    registered = [e for e in trace if isinstance(e, ev.HookRegistered)]
    removed = [(e.hook,) for e in trace if isinstance(e, ev.HookRemoved)]
    return [*[(e.kind, e.function, e.hook, e.output_nr, e.node is None) for e in registered], *removed]


@pytest.mark.torch
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


@pytest.mark.torch
def test_recording_leaves_no_hooks_behind(both: tuple[Trace, Trace]) -> None:
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


@pytest.mark.torch
def test_a_node_has_the_hooks_of_its_tensors(both: tuple[Trace, Trace]) -> None:
    """A Node has them until they are removed."""
    trace = both[1]
    registered = next(e for e in trace if isinstance(e, ev.HookRegistered))
    assert registered.node is not None
    assert hooks_of(trace, registered.node, None, registered.seq) == [registered]
    assert hooks_of(trace, registered.node, None, len(trace) - 1) == []


@pytest.mark.torch
def test_hooks_before_another_node_stay_with_theirs() -> None:
    """A tensor that is written to begins without hooks. Registering one on a view never makes a Node."""
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


@pytest.mark.torch
def test_each_node_has_its_own_hooks() -> None:
    """Meanwhile the engine has our hooks there too, and Python's object for a Node is old or new."""
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


@pytest.mark.torch
def test_tensors_retain_their_gradient_once() -> None:
    """NB: a call through the class is PyTorch's own."""
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


@pytest.mark.torch
def test_a_retained_gradient_goes_along_to_another_node() -> None:
    checked = runs(WRITTEN_TO)
    assert checked.same
    seen = seen_by_both(checked.torch)
    names = {e.node: e.name for e in seen if isinstance(e, ev.NodeCreated)}
    assert [names[e.node] for e in seen if isinstance(e, ev.HookRegistered) and e.moved and e.node is not None] == [
        "MulBackward0", "torch::autograd::CopySlices", "AsStridedBackward0",
    ]  # fmt: skip


BEGIN = """
import torch
def one(gradient): return None
def twice(gradient): return gradient * 2
def all_twice(gradients, *inputs): return tuple(g if g is None else g * 2 for g in gradients)
def looks(*gradients): gradients[0]
x = torch.ones(2, requires_grad=True)
y = x * 3
z = y.exp()
"""

EVERY_KIND = """
y.grad_fn.register_hook(all_twice)
y.register_hook(one)
y.grad_fn.register_prehook(looks)
y.register_hook(twice)
y.grad_fn.register_prehook(all_twice)
x.register_post_accumulate_grad_hook(one)
x.register_hook(twice)
y.retain_grad()
z.sum().backward()
print(x.grad, y.grad)
"""

PROGRAMS = {
    "every kind": EVERY_KIND,
    "removed and registered": """
handle = y.register_hook(one)
def changes(gradient):
    handle.remove()
    y.register_hook(twice)
    x.register_hook(one)
z.register_hook(changes)
for _ in range(2):
    z.sum().backward(retain_graph=True)
print(x.grad)
""",
    "captured alone": """
y.register_hook(twice)
y.grad_fn.register_prehook(looks)
z.register_hook(one)
print(torch.autograd.grad(z.sum(), [y]))
""",
    "several outputs": """
first, second = y.unbind()
second.register_hook(twice)
first.register_hook(one)
first.grad_fn.register_prehook(all_twice)
(first * second).backward()
print(x.grad)
""",
    "a backward in a hook": """
inner = (x * 2).sum()
inner.register_hook(one)
def goes_back(gradient):
    inner.backward(retain_graph=True)
    return gradient + 1
y.register_hook(goes_back)
y.grad_fn.register_hook(lambda *gradients: inner.backward(retain_graph=True))
x.register_post_accumulate_grad_hook(one)
z.sum().backward()
print(x.grad)
""",
    "steps in the backward": """
def step(leaf):
    with torch.no_grad():
        leaf -= leaf.grad
    leaf.grad = None
x.register_post_accumulate_grad_hook(step)
z.sum().backward()
print(x)
""",
    "create_graph": """
y.register_hook(twice)
(g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
g.register_hook(one)
g.sum().backward()
print(x.grad)
""",
    "one that fails": """
z.register_hook(one)
def fails(gradient): raise LookupError("a hook")
y.register_hook(twice)
y.register_hook(fails)
z.sum().backward()
""",
    "a module's": """
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
net[0].register_full_backward_hook(looks)
net[0].register_full_backward_pre_hook(looks)
net(z).sum().backward()
""",
}


def ran(trace: Trace) -> list[tuple[object, ...]]:
    """Return the events about hooks in order, with the Nodes that start between them. NB: ``same`` compares numbers."""
    seen = seen_by_both(trace)
    names = {e.node: e.name for e in seen if isinstance(e, ev.NodeCreated)}
    return [
        (e.kind, names[e.node], e.function, e.replaced, len(e.gradients))
        if isinstance(e, ev.HookRan)
        else (names[e.node],)
        for e in seen
        if isinstance(e, (ev.HookRan, ev.NodeStarted))
    ]


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_run_as_in_the_model(name: str) -> None:
    """Each hook is at its place among the calls of the program."""
    checked = runs(BEGIN + PROGRAMS[name])
    model, torch = ran(checked.model), ran(checked.torch)
    assert any(len(one) > 1 for one in model)
    assert torch == model
    assert checked.same


@pytest.mark.torch
def test_hooks_run_in_the_order_of_the_engine() -> None:
    trace = run(Code(BEGIN + EVERY_KIND), engine=engine_named("torch")).trace
    hooks = [event for event in trace if isinstance(event, ev.HookRan)]
    assert [(hook.kind, hook.function, hook.replaced) for hook in hooks] == [
        ("tensor pre hook", "one", False),
        ("tensor pre hook", "twice", True),
        ("pre hook", "looks", False),
        ("pre hook", "all_twice", True),
        ("post hook", "all_twice", True),
        ("tensor pre hook", "twice", True),
        ("post-accumulate hook", "one", False),
    ]
    assert [len(hook.gradients) for hook in hooks] == [0, 1, 0, 1, 2, 1, 0]


@pytest.mark.torch
def test_the_gradient_is_accumulated_before_its_hook() -> None:
    trace = run(Code(BEGIN + PROGRAMS["steps in the backward"]), engine=engine_named("torch")).trace
    (accumulated,) = (event for event in trace if isinstance(event, ev.GradientAccumulated))
    (hook,) = (event for event in trace if isinstance(event, ev.HookRan))
    started = [event for event in trace if isinstance(event, ev.NodeStarted)][-1]
    assert started.seq < accumulated.seq < hook.seq
    assert accumulated.parent == hook.parent == started.seq


REFUSED = "y.register_hook(lambda gradient: gradient[0])\ny.sum().backward()\n"


@pytest.mark.torch
def test_result_that_the_engine_refuses_is_no_event() -> None:
    checked = runs(BEGIN + REFUSED)
    assert checked.same
    assert ran(checked.model) == ran(checked.torch)
    assert not any(isinstance(event, ev.HookRan) for event in checked.torch)


LOOKS_AT_THEM = """
import torch
from dispatchviz.live.running_hooks import WatchedHook
x = torch.ones(2, requires_grad=True)
y = x * 2
total = y.sum()
found = []
def looks(gradient):
    found.append(sum(type(hook) is WatchedHook for hook in [*y._backward_hooks.values(), *x._backward_hooks.values()]))
    if len(found) == 2:
        total.backward(retain_graph=True)
    if len(found) == 4:
        raise LookupError
y.register_hook(looks)
x.register_hook(looks)
for _ in range(2):
    try:
        total.backward(retain_graph=True)
    except LookupError:
        pass
    looks(None)
import torch._dynamo.compiled_autograd
torch._dynamo.compiled_autograd.compiled_autograd_enabled = True
total.backward()
torch._dynamo.compiled_autograd.compiled_autograd_enabled = False
print(found)
"""


@pytest.mark.torch
def test_dictionaries_hold_what_they_held(capfd: pytest.CaptureFixture[str]) -> None:
    """This holds as soon as the engine has returned, also after an error, but not while another backward runs. It
    always holds if PyTorch's compiler gets the hooks.
    """
    run(Code(LOOKS_AT_THEM), engine=engine_named("torch"))
    assert capfd.readouterr().out == "[2, 2, 2, 2, 0, 2, 2, 0, 0, 0]\n"


SHARED = """
import threading
import torch
leaf = torch.ones(2, requires_grad=True)
both = threading.Barrier(2, timeout=60)
def waits(gradient):
    both.wait()
leaf.register_hook(waits)
threads = [threading.Thread(target=lambda: (leaf * 2).sum().backward()) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.torch
def test_a_node_that_two_backwards_share_starts_once_in_each() -> None:
    trace = run(Code(SHARED), engine=engine_named("torch")).trace
    passes = [event.seq for event in trace if isinstance(event, ev.BackwardStarted)]
    accumulators = {event.node for event in trace if isinstance(event, ev.AccumulatorMade)}
    shared = [e for e in trace if isinstance(e, (ev.NodeStarted, ev.HookRan)) and e.node in accumulators]
    assert len(passes) == 2
    assert sorted(e.parent for e in shared if isinstance(e, ev.NodeStarted) and e.parent is not None) == passes
    assert sorted(e.parent for e in shared if isinstance(e, ev.HookRan) and e.parent is not None) == passes

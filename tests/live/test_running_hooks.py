"""Hooks in a recording of an installed PyTorch: as they run."""

from __future__ import annotations

import pytest

from dispatchviz.cli.check_runs import two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.checked import Checked
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code

pytestmark = pytest.mark.torch


def runs(program: str) -> Checked:
    """On the model and on PyTorch."""
    return two_runs(Code(program), ())


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
    """What is told of hooks, in order, with the Nodes that start between. NB: numbers are compared by ``same``."""
    seen = seen_by_both(trace)
    names = {e.node: e.name for e in seen if isinstance(e, ev.NodeCreated)}
    return [
        (e.kind, names[e.node], e.function, e.replaced, len(e.gradients))
        if isinstance(e, ev.HookRan)
        else (names[e.node],)
        for e in seen
        if isinstance(e, (ev.HookRan, ev.NodeStarted))
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_run_as_in_the_model(name: str) -> None:
    """Each in its place among the calls of the program."""
    checked = runs(BEGIN + PROGRAMS[name])
    model, torch = ran(checked.model), ran(checked.torch)
    assert any(len(one) > 1 for one in model)
    assert torch == model
    assert checked.same


def test_in_the_order_of_the_engine() -> None:
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


def test_the_gradient_is_accumulated_before_its_hook() -> None:
    trace = run(Code(BEGIN + PROGRAMS["steps in the backward"]), engine=engine_named("torch")).trace
    (accumulated,) = (event for event in trace if isinstance(event, ev.GradientAccumulated))
    (hook,) = (event for event in trace if isinstance(event, ev.HookRan))
    started = [event for event in trace if isinstance(event, ev.NodeStarted)][-1]
    assert started.seq < accumulated.seq < hook.seq
    assert accumulated.parent == hook.parent == started.seq


REFUSED = "y.register_hook(lambda gradient: gradient[0])\ny.sum().backward()\n"


def test_what_the_engine_refuses_is_no_event() -> None:
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


def test_dictionaries_hold_what_they_held(capfd: pytest.CaptureFixture[str]) -> None:
    """As soon as the engine has returned, also after an error, and not while another backward goes on; always where
    PyTorch's compiler gets the hooks."""
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


def test_a_node_that_two_backwards_share_starts_once_in_each() -> None:
    trace = run(Code(SHARED), engine=engine_named("torch")).trace
    passes = [event.seq for event in trace if isinstance(event, ev.BackwardStarted)]
    accumulators = {event.node for event in trace if isinstance(event, ev.AccumulatorMade)}
    shared = [e for e in trace if isinstance(e, (ev.NodeStarted, ev.HookRan)) and e.node in accumulators]
    assert len(passes) == 2
    assert sorted(e.parent for e in shared if isinstance(e, ev.NodeStarted) and e.parent is not None) == passes
    assert sorted(e.parent for e in shared if isinstance(e, ev.HookRan) and e.parent is not None) == passes

"""Several threads run backward at once: over shared parts, into one leaf, with and without a recorder."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace
from tests.waiting import HANGS

SECOND_TIME = "Trying to backward through the graph a second time"


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    """Threads take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(works: list[Callable[[], None]]) -> list[BaseException]:
    """Runs each in a thread of its own, all from the same moment on; what they raised."""
    barrier, errors = threading.Barrier(len(works)), []

    def run(work: Callable[[], None]) -> None:
        barrier.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=HANGS)
        assert not thread.is_alive(), "a deadlock"
    return errors


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def over_a_shared_part(turns: int) -> Callable[[Any], Callable[[], None]]:
    """What one thread does: its own operators on top of a part that all share, backward again and again."""

    def of(shared: Any) -> Callable[[], None]:
        def work() -> None:
            for _ in range(turns):
                (shared * 2.0).sum().backward(retain_graph=True)

        return work

    return of


@pytest.mark.parametrize("turns", [1000])
def test_four_threads_over_a_shared_subgraph_lose_nothing(turns: int) -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 5.0)
    shared = (x * w).exp().log()  # saved inputs, a saved result, and an AccumulateGrad for each leaf
    x_gradient, w_gradient = torch.autograd.grad((shared * 2.0).sum(), (x, w), retain_graph=True)
    assert together([over_a_shared_part(turns)(shared)] * 4) == []
    times = 4 * turns
    assert x.grad.tolist() == pytest.approx([times * g for g in x_gradient.tolist()], rel=1e-12)
    assert w.grad.tolist() == pytest.approx([times * g for g in w_gradient.tolist()], rel=1e-12)


def test_threads_that_build_their_own_graphs_on_one_leaf_lose_nothing() -> None:
    for _ in range(20):
        x = leaf(1.0)  # nobody has its AccumulateGrad yet: the threads race for it

        def work(x: Any = x) -> None:
            for _ in range(20):
                (x * 3.0).backward()

        assert together([work] * 4) == []
        assert x.grad.tolist() == [4 * 20 * 3.0]


def test_a_graph_that_is_not_kept_runs_or_says_that_it_has_run() -> None:
    """In PyTorch one of four succeeds, usually: more can, if they pass each Node before anybody has left it."""
    for _ in range(30):
        x = leaf(2.0)
        y = x.exp() * x
        errors = together([lambda y=y: y.backward()] * 4)  # type: ignore[misc]
        assert all(str(error).startswith(SECOND_TIME) for error in errors)
        assert len(errors) < 4


def test_a_node_is_not_released_while_another_thread_applies_it() -> None:
    """Between the unpacking of its two saved tensors, another thread wants to release them, and has to wait."""
    x, w = leaf(2.0), leaf(3.0)
    node = (x * w).grad_fn
    inside, released = threading.Event(), threading.Event()

    def releasing() -> None:
        inside.wait()
        node.release_alone()
        released.set()

    class Slow(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            inside.set()
            assert not released.wait(0.05)  # enough to see a missing lock; never fails for being short
            return func(*args, **(kwargs or {}))

    other = threading.Thread(target=releasing, daemon=True)
    other.start()
    other_started = torch.ones(1, dtype=torch.float64)
    with Slow():
        gradients = node(other_started)
    other.join(timeout=HANGS)
    assert released.is_set()
    assert [gradient.item() for gradient in gradients] == [3.0, 2.0]


def test_hooks_after_accumulation_see_what_their_own_backward_wrote() -> None:
    """AccumulateGrad keeps others out until its hooks are done."""
    x, seen = leaf(0.0), []

    def take(tensor: Any) -> None:
        seen.append(tensor.grad.item())
        tensor.grad = None

    x.register_post_accumulate_grad_hook(take)

    def work() -> None:
        for _ in range(50):
            (x * 2.0).backward()

    assert together([work] * 4) == []
    assert seen == [2.0] * 200
    assert x.grad is None


def test_each_thread_has_its_own_numbers_and_backward() -> None:
    found: dict[int, tuple[int, int]] = {}

    def work(place: int) -> None:
        nodes = [(leaf(1.0) * 2.0).grad_fn for _ in range(3)]
        found[place] = nodes[0]._sequence_nr(), nodes[2]._sequence_nr()

    assert together([lambda: work(0), lambda: work(1)]) == []
    assert found == {0: (0, 2), 1: (0, 2)}


# -- the trace --------------------------------------------------------------------------------------------------------


def recorded() -> Trace:
    x, w = leaf(1.0, 2.0), leaf(3.0, 5.0)
    with dispatchviz.record() as trace:
        shared = (x * w).exp()
        assert together([over_a_shared_part(25)(shared)] * 4) == []
    return trace


def test_the_trace_of_four_threads_is_consistent() -> None:
    trace = recorded()
    seen: set[int] = set()
    for event in trace:
        if isinstance(event, ev.TensorCreated):
            assert event.tensor not in seen, "a tensor that two threads met at once has two numbers, or is told twice"
            seen.add(event.tensor)
    numbers = [event.node for event in trace if isinstance(event, ev.NodeCreated)]
    assert len(numbers) == len(set(numbers))


def test_every_backward_of_the_trace_holds_its_own_steps_alone() -> None:
    trace = recorded()
    backwards = [event for event in trace if isinstance(event, ev.BackwardStarted)]
    assert len(backwards) == 100
    assert sorted(event.graph_task for event in backwards) == list(range(100))
    ran = [_of_backward(trace, event.seq) for event in backwards]
    (first,) = {tuple(names) for names in ran}
    assert Counter(first) == {
        "SumBackward0": 1, "MulBackward0": 2, "ExpBackward0": 1, "torch::autograd::AccumulateGrad": 2,
    }  # fmt: skip


def _of_backward(trace: Trace, seq: int) -> list[str]:
    return [event.name for event in trace.children(seq) if isinstance(event, ev.NodeStarted)]


def test_calls_of_the_trace_are_nested_as_their_threads_made_them() -> None:
    """A redispatch is inside the kernel that made it, of the same operator: another thread's would not be."""
    trace = recorded()
    for event in trace:
        if isinstance(event, ev.Dispatched) and event.how == "redispatch":
            (outer, *_) = [e for e in trace.ancestors(event.seq) if isinstance(e, ev.Dispatched)]
            assert outer.operator == event.operator

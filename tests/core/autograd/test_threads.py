"""Backward on several threads, and on the threads of devices."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH, ThreadPool
from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.trace import Trace
from tests.waiting import HANGS

from .leaves import of_kind

SECOND_TIME = "Trying to backward through the graph a second time"


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    """Switch threads as often as the interpreter allows in the block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(works: list[Callable[[], None]]) -> list[BaseException]:
    """Run each function in a thread of its own, all starting at the same moment. Return the exceptions that they
    raised.
    """
    barrier, errors = threading.Barrier(len(works)), []

    def run(work: Callable[[], None]) -> None:
        barrier.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=HANGS)
        assert not each.is_alive(), "a deadlock"
    return errors


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def over_a_shared_part(turns: int) -> Callable[[Any], Callable[[], None]]:
    """Return the work of one thread: its own operators on top of a part that all threads share, with repeated
    backwards.
    """

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


def test_threads_with_graphs_on_one_leaf_lose_no_gradient() -> None:
    for _ in range(20):
        x = leaf(1.0)  # it has no AccumulateGrad yet: the threads race to make it

        def work(x: Any = x) -> None:
            for _ in range(20):
                (x * 3.0).backward()

        assert together([work] * 4) == []
        assert x.grad.tolist() == [4 * 20 * 3.0]


def test_concurrent_backwards_run_or_report_a_freed_graph() -> None:
    """Check that each thread succeeds or reports a freed graph.

    In PyTorch one of four usually succeeds. More can succeed if they pass each Node before another thread has left it.
    """
    for _ in range(30):
        x = leaf(2.0)
        y = x.exp() * x
        errors = together([lambda y=y: y.backward()] * 4)  # type: ignore[misc]
        assert all(str(error).startswith(SECOND_TIME) for error in errors)
        assert len(errors) < 4


def test_a_node_is_not_released_while_another_thread_applies_it() -> None:
    """Another thread that wants to release its two saved tensors has to wait between their unpackings."""
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
    """AccumulateGrad keeps other threads out until its hooks are done."""
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


def test_each_thread_has_its_own_sequence_numbers_and_backward() -> None:
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
            assert event.tensor not in seen, "a tensor that two threads met at once is recorded twice"
            seen.add(event.tensor)
    numbers = [event.node for event in trace if isinstance(event, ev.NodeCreated)]
    assert len(numbers) == len(set(numbers))


def test_each_backward_of_the_trace_has_only_its_own_steps() -> None:
    trace = recorded()
    backwards = of_kind(trace, ev.BackwardStarted)
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
    """A redispatch is inside the kernel that made it, of the same operator. Another thread's would not be."""
    trace = recorded()
    for event in trace:
        if isinstance(event, ev.Dispatched) and event.how == "redispatch":
            (outer, *_) = [e for e in trace.ancestors(event.seq) if isinstance(e, ev.Dispatched)]
            assert outer.operator == event.operator


def cuda_leaf(device: str = "cpu", *values: float) -> Any:
    return torch.tensor(list(values or (1.0, 2.0)), device=device, requires_grad=True)


def second_order(device: str) -> tuple[list[Any], Any]:
    """The numbers and threads of Nodes made in a backward, and the Node made after it."""
    x = cuda_leaf(device)
    y = x.exp() * x
    (gradient,) = torch.autograd.grad(y, x, torch.ones(2, device=device), create_graph=True)
    made, todo = [], [gradient.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in made:
            made.append(node)
            todo += [target for target, _ in node.next_functions]
    of_backward = [node for node in made if node.name() != "torch::autograd::AccumulateGrad" and _is_new(node, y)]
    return of_backward, (x * 2.0).grad_fn


def _is_new(node: Any, y: Any) -> bool:
    return node is not y.grad_fn and node is not y.grad_fn.next_functions[0][0]


def test_backward_on_cpu_continues_the_numbers_of_the_forward() -> None:
    with clean_process_state():
        made, after = second_order("cpu")
    assert sorted(node._sequence_nr() for node in made) == [2, 3, 4, 5][: len(made)]
    assert {node.thread_id for node in made} == {thread.state.thread_id}
    assert after._sequence_nr() == 2 + len(made)


def test_nodes_made_by_a_backward_on_cuda_have_the_numbers_of_its_thread() -> None:
    with clean_process_state():
        made, after = second_order("cuda")
        again, _ = second_order("cuda")
    numbers = sorted(node._sequence_nr() for node in made)
    assert numbers == list(range(len(made)))
    (ident,) = {node.thread_id for node in made}
    assert ident != thread.state.thread_id
    assert (after._sequence_nr(), after.thread_id) == (2, thread.state.thread_id)
    assert min(node._sequence_nr() for node in again) == len(made)  # the thread stays, and so does its counter


def test_backward_on_cuda_has_the_callers_modes_and_restores_the_thread() -> None:
    before, seen = thread.state, []
    x = cuda_leaf("cuda")
    y = x.exp()
    y.register_hook(lambda gradient: seen.append((torch.is_grad_enabled(), thread.state is before)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append("unpacked") or t):
        z = y * y
    z.sum().backward()
    assert (False, False) in seen
    assert thread.state is before
    assert torch.is_grad_enabled()


def test_error_on_a_device_restores_the_thread() -> None:
    before = thread.state
    y = cuda_leaf("cuda").exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    assert thread.state is before


# -- the pool ---------------------------------------------------------------------------------------------------------


def nested(levels: int, at_the_bottom: Any) -> None:
    """A backward within a hook of a backward, and so on."""
    if not levels:
        at_the_bottom()
        return
    with torch.enable_grad():
        y = cuda_leaf("cpu", 1.0).exp()
        y.register_hook(lambda gradient: nested(levels - 1, at_the_bottom))
        y.backward()


@pytest.mark.parametrize(("levels", "moved"), [(2, False), (MAX_DEPTH + 1, False), (MAX_DEPTH + 2, True)])
def test_backward_below_sixty_nested_ones_runs_in_the_pool(levels: int, moved: bool) -> None:
    here, there = threading.get_ident(), []
    nested(levels, lambda: there.append(threading.get_ident()))
    assert (there[0] != here) is moved


def test_a_node_made_on_a_pool_thread_counts_there_and_keeps_the_modes() -> None:
    found: list[Any] = []

    def bottom() -> None:
        found.append(torch.is_grad_enabled())
        with torch.enable_grad():
            found.append((cuda_leaf() * 2.0).grad_fn.thread_id)

    nested(MAX_DEPTH + 2, bottom)
    assert found[0] is False
    assert found[1] != thread.state.thread_id


def test_error_on_a_pool_thread_is_raised_in_the_caller() -> None:
    def bottom() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nested(MAX_DEPTH + 5, bottom)
    assert thread.state.graph_task is None


def test_work_of_a_pool_thread_is_recorded_in_the_waiting_backward() -> None:
    with dispatchviz.record() as trace:
        nested(MAX_DEPTH + 3, lambda: None)
    backwards = of_kind(trace, ev.BackwardStarted)
    assert [event.depth for event in backwards] == list(range(MAX_DEPTH + 3))
    for outer, inner in pairwise(backwards):
        assert outer in list(trace.ancestors(inner.seq))


def test_the_engines_own_frames_do_not_count_for_the_recursion_limit() -> None:
    before, inside = sys.getrecursionlimit(), []
    nested(MAX_DEPTH, lambda: inside.append(sys.getrecursionlimit()))
    assert inside[0] > before
    assert sys.getrecursionlimit() == before


def test_the_pool_keeps_its_threads() -> None:
    pool, idents = ThreadPool(), set()
    for _ in range(5):
        pool.run(lambda: idents.add(threading.get_ident()))
    assert len(idents) <= 2  # the one that has just finished may not be idle yet


def trace_of_backward() -> Trace:
    with clean_process_state(), dispatchviz.record() as trace:
        x = torch.ones(2, device="cuda", requires_grad=True)
        (x * x).sum().backward()
    return trace


def test_calls_within_a_guard_do_not_reach_autograd() -> None:
    for trace in (trace_of_backward(), trace_of_backward()):  # the device's thread is new, and known
        within = [
            e
            for e in trace
            if isinstance(e, ev.Dispatched) and any(isinstance(a, ev.GuardEntered) for a in trace.ancestors(e.seq))
        ]
        assert within
        assert not any("Autograd" in e.key for e in within)


def test_recorded_key_sets_are_those_in_force() -> None:
    trace = trace_of_backward()
    for computed in trace:
        if not isinstance(computed, ev.KeySetComputed):
            continue
        guard = next((a for a in trace.ancestors(computed.seq) if isinstance(a, ev.GuardEntered)), None)
        assert computed.excluded & autograd_dispatch_keyset == (
            guard.excluded & autograd_dispatch_keyset if guard else 0
        )

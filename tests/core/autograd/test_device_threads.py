"""Which thread's numbers a Node takes: the caller's, a device's, that of a pool thread."""

from __future__ import annotations

import sys
import threading
from itertools import pairwise
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH, ThreadPool
from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.running.process_state import clean_process_state


def leaf(device: str = "cpu", *values: float) -> Any:
    return torch.tensor(list(values or (1.0, 2.0)), device=device, requires_grad=True)


def second_order(device: str) -> tuple[list[Any], Any]:
    """The numbers and threads of Nodes made in a backward, and the Node made after it."""
    x = leaf(device)
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


def test_on_the_cpu_numbers_go_on_where_the_forward_was() -> None:
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


def test_a_backward_on_cuda_has_the_callers_modes_and_gives_the_thread_back() -> None:
    before, seen = thread.state, []
    x = leaf("cuda")
    y = x.exp()
    y.register_hook(lambda gradient: seen.append((torch.is_grad_enabled(), thread.state is before)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append("unpacked") or t):
        z = y * y
    z.sum().backward()
    assert (False, False) in seen
    assert thread.state is before
    assert torch.is_grad_enabled()


def test_an_error_on_a_device_gives_the_thread_back() -> None:
    before = thread.state
    y = leaf("cuda").exp()
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
        y = leaf("cpu", 1.0).exp()
        y.register_hook(lambda gradient: nested(levels - 1, at_the_bottom))
        y.backward()


@pytest.mark.parametrize(("levels", "moved"), [(2, False), (MAX_DEPTH + 1, False), (MAX_DEPTH + 2, True)])
def test_from_sixty_nested_backwards_on_the_next_moves_to_the_pool(levels: int, moved: bool) -> None:
    here, there = threading.get_ident(), []
    nested(levels, lambda: there.append(threading.get_ident()))
    assert (there[0] != here) is moved


def test_a_node_made_on_a_pool_thread_counts_there_and_keeps_the_modes() -> None:
    found: list[Any] = []

    def bottom() -> None:
        found.append(torch.is_grad_enabled())
        with torch.enable_grad():
            found.append((leaf() * 2.0).grad_fn.thread_id)

    nested(MAX_DEPTH + 2, bottom)
    assert found[0] is False
    assert found[1] != thread.state.thread_id


def test_an_error_on_a_pool_thread_comes_out_below() -> None:
    def bottom() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nested(MAX_DEPTH + 5, bottom)
    assert thread.state.graph_task is None


def test_what_a_pool_thread_does_is_told_inside_the_backward_that_waits_for_it() -> None:
    with dispatchviz.record() as trace:
        nested(MAX_DEPTH + 3, lambda: None)
    backwards = [event for event in trace if isinstance(event, ev.BackwardStarted)]
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

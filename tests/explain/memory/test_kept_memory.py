"""The memory of saved tensors in recordings of the model: bytes, moments, holders, copies in other dtypes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.kept_memory import Part, kept_memory, united, without
from dispatchviz.explain.graph.memory.memory_card import memory_card
from dispatchviz.explain.graph.memory.saved_lives import End
from dispatchviz.explain.graph.memory.variable_spans import spans
from tests.explain.programs import traced
from tests.steps import last_step, line, step, steps


def test_memory_is_kept_until_the_node_has_run() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    """)
    total = kept_memory(trace).total
    saved, released = step(trace, ev.VariableSaved), steps(trace, ev.VariablesReleased)
    assert [total.at(at) for at in (saved - 1, saved, line(trace, 5), last_step(trace))] == [0, 40, 40, 0]
    (life,) = kept_memory(trace).lives
    assert (life.begin, life.why) == (saved, End.RELEASED)
    assert life.end in released


def test_a_retained_graph_keeps_its_memory_until_a_pass_without_retain_graph() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    del y
    """)
    total = kept_memory(trace).total
    assert [total.at(line(trace, at)) for at in (5, 6, 7)] == [40, 40, 0]


def test_memory_ends_with_a_graph_that_is_dropped() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.exp()
    y = 1
    z = 2
    """)
    known = kept_memory(trace)
    assert [known.total.at(line(trace, at)) for at in (5, 6)] == [40, 0]
    assert [life.why for life in known.lives] == [End.FREED]
    assert isinstance(trace[known.lives[0].end], ev.NodeDeleted)


def test_a_graph_without_an_end_is_kept_to_the_last_step() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.exp()
    """)
    assert kept_memory(trace).total.at(last_step(trace)) == 40
    (kept,) = memory_card(trace, last_step(trace)).storages
    assert (kept.end, kept.why) == (None, End.NONE)


def test_one_storage_counts_once_and_as_a_whole() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    row = x[2:4]
    y = row * row + row.exp() * x[0]
    """)
    card = memory_card(trace, last_step(trace))
    sizes = {kept.name: kept.size for kept in card.storages}
    assert sizes["row"] == 40, "the view of two elements keeps all ten of its base"
    assert card.total == 40 + 8, "the base, and the result of exp, which MulBackward0 saves too"
    assert {tuple(by.names) for kept in card.storages for by in kept.saved_by} >= {("other", "self"), ("result",)}


def test_memory_that_a_variable_holds_too_is_counted_apart() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.sin().exp()
    z = 1
    y = y.cos()
    z = 2
    """)
    assert sorted(k.variable for k in memory_card(trace, line(trace, 5)).storages) == ["x", "y"]
    assert sorted(k.variable for k in memory_card(trace, line(trace, 7)).storages) == ["", "x"]
    assert [memory_card(trace, line(trace, at)).unnamed for at in (5, 7)] == [0, 40]
    unnamed = kept_memory(trace).unnamed(trace)
    assert [unnamed.at(line(trace, at)) for at in (5, 7)] == [0, 40]


def test_a_variable_of_a_function_holds_nothing_after_the_call() -> None:
    trace = traced("""
    import torch
    def f(v):
        h = v.exp()
        return h.sum()
    x = torch.ones(10, requires_grad=True)
    y = f(x)
    z = f(x)
    z = 1
    """)
    storages = [kept for kept in kept_memory(trace).kept if kept_memory(trace).sizes[kept] == 40]
    assert len(storages) == 2
    for storage in storages:
        (span,) = spans(trace, storage)
        assert span.name == "h"
        assert isinstance(trace[span.end], ev.SourceLine)
        assert trace[span.end].line in (7, 8)


def test_a_parameter_is_held_until_its_module_is_deleted() -> None:
    trace = traced("""
    import torch
    net = torch.nn.Linear(3, 2)
    x = torch.ones(1, 3, requires_grad=True)
    y = net(x)
    del net
    z = 1
    """)
    before, after = ({k.size: k.variable for k in memory_card(trace, line(trace, at)).storages} for at in (6, 7))
    assert before == {24: "net.weight", 12: "x"}
    assert after == {24: "", 12: "x"}


def test_a_variable_with_other_data_holds_the_first_memory_no_longer() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    y = x.exp()
    y.data = torch.zeros(10)
    z = 1
    """)
    before, after = (memory_card(trace, line(trace, at)).storages for at in (5, 6))
    assert [kept.variable for kept in before] == ["y"]
    assert [kept.variable for kept in after] == [""]


def test_tensors_that_hooks_pack_do_not_count() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        y = x.exp()
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), torch.tensor)
    w = 1
    """)
    total = kept_memory(trace).total
    assert [total.at(line(trace, at)) for at in (6, 7, 8)] == [0, 40, 0]
    assert memory_card(trace, last_step(trace)).packed == 1
    assert [life.why for life in kept_memory(trace).lives] == [End.PACKED]


def test_sparse_tensors_are_counted_apart() -> None:
    trace = traced("""
    import torch
    x = torch.ones(2, 2, device="meta", requires_grad=True)
    y = x.exp()
    """)
    card = memory_card(trace, last_step(trace))
    assert (card.total, card.without_storage) == (0, 1)


def test_a_copy_in_another_dtype_names_its_original_while_both_are_kept() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    h = x.sin()
    y = h.exp() * h.half()
    h = y = None
    k = x.cos()
    z = k.half().exp()
    """)
    at = line(trace, 6)
    copies = {k.name: (k.copy_of, k.copied_dtype, k.size) for k in memory_card(trace, at).storages if k.copy_of}
    assert list(copies.values()) == [("h", "torch.float32", 20)]
    assert memory_card(trace, at).copied == 20


def test_a_copy_whose_original_is_gone_is_no_duplicate() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    k = (x + 1).half()
    z = k * k
    w = 1
    """)
    card = memory_card(trace, line(trace, 6))
    assert (card.total, card.copied) == (20, 0)


def test_the_peak_is_the_first_step_with_the_most_memory() -> None:
    trace = traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    for _ in range(2):
        a = x.exp()
        b = a.sin()
        (a * b).sum().backward()
    """)
    card = memory_card(trace, 0)
    assert (card.total, card.peak, card.peak_at.line) == (0, 80, 7)
    total = kept_memory(trace).total
    assert total.at(card.peak_at.step) == 80 > total.at(card.peak_at.step - 1)
    assert card.peak_at.step == min(at for at in range(len(trace)) if total.at(at) == 80)


def test_a_trace_without_saved_tensors_has_no_peak() -> None:
    card = memory_card(traced("import torch\nx = torch.ones(2)\n"), 0)
    assert (card.total, card.peak, card.storages) == (0, 0, ())


def test_the_largest_storages_come_first_and_the_others_are_counted() -> None:
    trace = traced("""
    import torch
    kept = [torch.ones(n, requires_grad=True).exp() for n in range(1, 6)]
    """)
    card = memory_card(trace, last_step(trace), most=2)
    assert [kept.size for kept in card.storages] == [20, 16]
    assert (card.more, card.total) == (3, 4 * 15)


@pytest.mark.parametrize(("begin", "end"), [(0, 400), (30, 31), (100, 250)])
def test_the_most_of_a_range_is_that_of_its_steps(begin: int, end: int) -> None:
    total = kept_memory(loop()).total
    assert total.most(begin, end) == max(total.at(at) for at in range(begin, end))


def loop() -> Trace:
    return traced("""
    import torch
    x = torch.ones(10, requires_grad=True)
    for _ in range(3):
        x.exp().sin().sum().backward()
    """)


PARTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: (min(pair), max(pair))), max_size=8)


@given(PARTS, PARTS)
def test_parts_are_united_and_subtracted_as_sets(some: list[Part], others: list[Part]) -> None:
    def inside(parts: list[Part]) -> set[int]:
        return {at for begin, end in parts for at in range(begin, end)}

    one, other = united(some), united(others)
    assert inside(one) == inside(some)
    assert all(before[1] < after[0] for before, after in pairwise(one))
    assert inside(without(one, other)) == inside(some) - inside(others)

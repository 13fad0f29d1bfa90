"""Properties of a trace as text: their spelling, their equality, and their differences in failures."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing import graph, hook_order, keys, no_copy_in_accumulate, node_order, redispatches_to, saved
from dispatchviz.testing.saved_memory import saved_bytes
from dispatchviz.testing.trace_text import TraceText, explained
from tests.explain.founding import founding
from tests.steps import step


def _branches() -> Trace:
    with dispatchviz.record() as trace:
        x = torch.ones(2, 2, requires_grad=True)
        w = torch.ones(2, 2, requires_grad=True)
        y = x * w
        z = y.exp() + y
        z.sum().backward()
    return trace


TRACE = _branches()
GRAPH = "Sum → Add → (Exp → Mul#1 → (AccumulateGrad(x), AccumulateGrad(w)), Mul#1)"


def test_the_founding_programs_graph() -> None:
    assert graph(founding()) == "Sum → Add → AccumulateGrad(x)"
    assert node_order(founding()) == "Sum, Add, AccumulateGrad(x)"
    assert keys(founding(), "aten::add.Tensor") == "AutogradCUDA → CUDA"


def test_a_graph_with_branches() -> None:
    assert str(graph(TRACE)) == GRAPH
    assert str(node_order(TRACE)) == "Sum, Add, Exp, Mul, AccumulateGrad(x), AccumulateGrad(w)"
    assert str(saved(TRACE)) == "Mul(other=w, self=x), Exp(result)"


def test_differences_of_spelling_do_not_count() -> None:
    assert graph(TRACE) == GRAPH.replace("→", "->").replace(" ", "")
    assert graph(TRACE) == GRAPH.replace("Mul#1", "MulBackward0#1").replace("Sum", "SumBackward0")
    assert graph(TRACE) == GRAPH
    assert graph(TRACE) != GRAPH.replace("(x)", "(y)")
    assert "Exp → Mul" in graph(TRACE)


@pytest.mark.parametrize("text", ["Sum → Ad", "Sum → (Mull → AccumulateGrad(x))", "Add → AccumulateGrads(x)"])
def test_a_misspelt_node_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"there is no Node '.*'; did you mean "):
        assert graph(TRACE) == text
    with pytest.raises(ValueError, match=r"there is no Node '.*'; did you mean "):
        assert node_order(TRACE) != text


def test_a_misspelt_key_is_refused() -> None:
    for check in (lambda: keys(TRACE, "aten::mul.Tensor") == "AutogradCPU → CUBA",
                  lambda: redispatches_to(TRACE, "aten::mul.Tensor", "CUBA")):  # fmt: skip
        with pytest.raises(ValueError, match="there is no key 'CUBA'; did you mean CUDA"):
            check()
    with pytest.raises(ValueError, match=r"there is no operator 'mul'; did you mean aten::mul\.Tensor\?"):
        keys(TRACE, "mul")


def test_a_difference_is_marked_where_it_begins() -> None:
    expected = "Sum → Add → AccumulateGrad(x)"
    head, wanted, got, mark = graph(TRACE).difference(expected)
    assert head == "graph(trace) differs first at the mark"
    assert (wanted, got) == (f"  expected  {expected}", f"  got       {GRAPH}")
    column = mark.index("^")
    assert wanted[:column] == got[:column].replace("got     ", "expected")
    assert (wanted[column], got[column]) == ("A", "(")


def test_a_long_text_is_cut_around_its_difference() -> None:
    _, wanted, got, mark = graph(TRACE).difference(GRAPH.replace("(w)", "(v)"))
    column = mark.index("^")
    assert (wanted[column], got[column]) == ("v", "w")
    assert wanted.startswith("  expected  … → Add")


def test_a_difference_has_the_step_of_what_came() -> None:
    at = graph(TRACE).step(GRAPH.replace("Exp", "Log"))
    assert at is not None
    assert TRACE[at].name == "ExpBackward0"  # type: ignore[union-attr]


def test_empty_trace_equals_the_empty_text() -> None:
    with dispatchviz.record() as trace:
        torch.ones(2)
    assert graph(trace) == ""
    assert graph(trace).difference("Sum")[2] == "  got       nothing"
    assert graph(trace).step("Sum") is None
    assert graph(Trace(trace.header, [])) == ""


def test_one_backward_of_several() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        y = torch.ones(2, requires_grad=True)
        (y + 2).sum().backward()
    assert graph(trace) == "Sum → Add → AccumulateGrad(y)"
    assert graph(trace, backward=0) == "Sum → Mul → AccumulateGrad(x)"
    assert node_order(trace, backward=1) == "Sum, Add, AccumulateGrad(y)"
    for ask in (graph, node_order, hook_order):
        with pytest.raises(ValueError, match=r"the trace has no backward pass 2; its backward passes are: 0, 1"):
            ask(trace, backward=2)


def test_a_trace_that_grows_is_read_as_it_is() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        assert graph(trace) == "Sum → Mul → AccumulateGrad(x)"
        (x + 2).sum().backward()
        assert graph(trace) == "Sum → Add → AccumulateGrad(x)"


def test_a_graph_deeper_than_pythons_stack() -> None:
    with dispatchviz.record() as trace:
        x = y = torch.ones(2, requires_grad=True)
        for _ in range(1500):
            y = y.neg()
        y.sum().backward()
        assert x.grad is not None
    assert graph(trace) == f"Sum → {'Neg → ' * 1500}AccumulateGrad(x)"


def test_different_ways_of_an_operator_appear_once_each() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        for _ in range(3):
            x.mul(2)
        with torch.inference_mode():
            torch.ones(2).mul(2)
    assert str(keys(trace, torch.ops.aten.mul.Tensor)) == "AutogradCPU → CPU; CPU"
    with pytest.raises(AssertionError, match="never happens, so it goes to no key"):
        keys(trace, torch.ops.aten.sub)


def test_redispatches_are_compared_with_the_expected_keys() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2)
        x.add_(1)
    assert redispatches_to(trace, "aten::add_.Tensor", "ADInplaceOrView", "CPU")
    with pytest.raises(AssertionError) as caught:
        redispatches_to(trace, "aten::add_.Tensor", "CPU")
    lines = str(caught.value).splitlines()
    assert lines[1:3] == ["  expected  AutogradCPU → CPU", "  got       AutogradCPU → ADInplaceOrView → CPU"]
    assert ">" in lines[4]
    assert "ADInplaceOrView" in lines[4]


def test_the_order_of_hooks_is_that_of_their_calls() -> None:
    def after(inputs: object, outputs: object) -> None: ...
    def before(gradients: object) -> None: ...

    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.grad_fn.register_hook(after)
        y.grad_fn.register_prehook(before)
        y.sum().backward()
    assert hook_order(trace) == "before, after"


def test_no_copy_in_accumulate_and_why_it_cannot_be_proved() -> None:
    assert no_copy_in_accumulate(TRACE)
    assert no_copy_in_accumulate(TRACE, "x", "w")
    with pytest.raises(ValueError, match=r"no leaf 'v' gets a gradient; these leaves do: x, w"):
        no_copy_in_accumulate(TRACE, "v")
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
    with pytest.raises(AssertionError, match=r"no gradient is written to \.grad"):
        no_copy_in_accumulate(trace)
    with dispatchviz.record() as trace:
        x.sum().backward()
    with pytest.raises(
        AssertionError, match=r"^a gradient is copied into \.grad\n  the gradient of x is copied: the layout contract"
    ):
        no_copy_in_accumulate(trace)


def test_memory_that_several_share_counts_once() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(4, 4, requires_grad=True)
        (x * x).sum().backward()
    assert saved(trace) == "Mul(other=x, self=x)"
    assert saved_bytes(trace) == 4 * 4 * 4


def test_a_view_keeps_the_memory_of_its_base() -> None:
    with dispatchviz.record() as trace:
        base = torch.ones(10, dtype=torch.float64)
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        (x * base[:2]).sum().backward()
    assert saved_bytes(trace) == 80


def test_bare_assert_is_explained_outside_pytest() -> None:
    TraceText.last = None
    same = graph(founding()) == "Sum → Mul → AccumulateGrad(x)"
    assert not same
    assert explained(AssertionError()).splitlines()[0] == "graph(trace) differs first at the mark"
    assert explained(AssertionError("told")) == "told"
    TraceText.last = None
    assert explained(AssertionError()) == ""


def test_a_saved_trace_says_the_same(tmp_path: object) -> None:
    path = f"{tmp_path}/branches.dvtrace"
    TRACE.save(path)
    opened = dispatchviz.load(path)
    assert str(graph(opened)) == GRAPH
    assert saved_bytes(opened) == saved_bytes(TRACE) == 48
    assert step(opened, type(TRACE[0])) == 0

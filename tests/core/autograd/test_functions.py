"""``torch.autograd.Function``: the recorded events of a call, and the facts that only the machine can show.

The programs of ``truth/programs/functions.txt`` compare results, refusals and dispatches of Functions with PyTorch.
"""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.file_names import shown_file
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.locations.source_view import source_at
from dispatchviz.trace import Trace

from .leaves import of_kind


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Same(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.scale = 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.scale


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class AddTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(ops.add__Tensor.call(a, b, 1))
        return a

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, grad


class Several(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        marked, own = x * 3, (x * 4).requires_grad_()
        ctx.mark_non_differentiable(marked, own, x)
        return x.view(2, 1), x.view(1, 2), marked, own, x, 5

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0].view(2)


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_forward_is_recorded_with_the_users_function() -> None:
    x = leaf()
    with dispatchviz.record() as trace:
        Square.apply(x)
    (entered,) = of_kind(trace, ev.FunctionEntered)
    created = next(event for event in of_kind(trace, ev.NodeCreated) if event.name == "SquareBackward")
    assert (entered.function, entered.node, entered.needs_input_grad) == ("Square", created.node, (True,))
    assert (entered.recorded, entered.setup_context) == (True, False)
    assert entered.file.endswith("test_functions.py")
    assert entered.line == Square.forward.__code__.co_firstlineno
    inside = [
        e.operator for e in of_kind(trace, ev.Dispatched) if entered in trace.ancestors(e.seq) and e.how == "call"
    ]
    assert inside[0] == "aten::mul.Tensor"
    assert created.seq < entered.seq
    assert "Its Node exists already and has its edges" in why_here(trace, entered.seq)
    assert [frame.title for frame in call_stack(trace, entered.seq)][-2:] == ["THPFunction_apply", "Square.forward"]


def test_backward_is_recorded_with_the_users_function() -> None:
    y = Square.apply(leaf())
    with dispatchviz.record() as trace:
        y.sum().backward()
    started = next(event for event in of_kind(trace, ev.NodeStarted) if event.name == "SquareBackward")
    code = vars(Square)["backward"].__func__.__wrapped__.__code__
    assert started.file.endswith("test_functions.py")
    assert (started.line, started.end_line) == (code.co_firstlineno, code.co_firstlineno + 4)
    assert any(frame.title == "torch::autograd::PyNode::apply" for frame in call_stack(trace, started.seq))


def test_function_without_a_history_is_recorded_as_such() -> None:
    with dispatchviz.record() as trace:
        Same.apply(leaf().detach())
    (entered,) = of_kind(trace, ev.FunctionEntered)
    assert (entered.recorded, entered.setup_context, entered.needs_input_grad) == (False, True, (False,))
    assert "no output leads to it" in why_here(trace, entered.seq)
    assert "setup_context gets the ctx" in why_here(trace, entered.seq)


def test_treatment_of_each_output_is_recorded() -> None:
    x = leaf()
    with dispatchviz.record() as trace:
        Several.apply(x)
        Same.apply(x)
        Double.apply(x * 1)
    recorded = [(e.position, e.how, e.marked, e.is_input, e.creation_meta) for e in of_kind(trace, ev.FunctionOutput)]
    assert recorded == [
        (0, "set", "", False, "MULTI_OUTPUT_NODE"),
        (1, "set", "", False, "MULTI_OUTPUT_NODE"),
        (2, "plain", "non-differentiable", False, ""),
        (3, "detached in place", "non-differentiable", False, ""),
        (4, "detached", "non-differentiable", True, ""),
        (0, "viewed", "", True, "IN_CUSTOM_FUNCTION"),
        (0, "rebased", "dirty", True, ""),
    ]
    words = [why_here(trace, event.seq) for event in of_kind(trace, ev.FunctionOutput)]
    assert "one of several views" in words[0]
    assert "marked as non-differentiable" in words[2]
    assert "unchanged" in words[5]
    assert "mark_dirty" in words[6]


def test_histories_and_saved_variables_are_recorded() -> None:
    x = leaf()
    with dispatchviz.record() as trace:
        y = Square.apply(x)
        y.backward(torch.tensor([1.0, 1.0]))
    (history, *_) = of_kind(trace, ev.HistorySet)
    saved = [event.name for event in of_kind(trace, ev.VariableSaved)]
    released = [event.node for event in of_kind(trace, ev.VariablesReleased)]
    assert saved == ["saved_tensors[0]"]
    assert released == [history.node]


def test_recording_does_not_change_results() -> None:
    def gradients() -> list[Any]:
        x = leaf()
        (Square.apply(Same.apply(x)) + Double.apply(x * 1)).sum().backward()
        assert x._grad is not None
        return list(x._grad.tolist())

    unrecorded = gradients()
    with dispatchviz.record():
        assert gradients() == unrecorded


def test_a_ctx_dies_with_its_graph() -> None:
    """There is no reference cycle, since outputs are saved without their history."""
    y = Square.apply(leaf())
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_ctx_is_a_node_with_an_empty_dict() -> None:
    node = Square.apply(leaf()).grad_fn
    assert isinstance(node, Node)
    assert vars(node) == {}
    assert repr(node).startswith("<torch.autograd.function.SquareBackward object at 0x")


class Named(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.name, ctx.device = "mine", x.device
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return torch.ones(3)


def test_ctx_attributes_may_have_names_of_node_methods() -> None:
    """PyTorch does the same: it calls the Node's methods, not the ctx's attributes."""
    with dispatchviz.record() as trace:
        y = Named.apply(leaf())
        with pytest.raises(RuntimeError, match=r"^Function NamedBackward returned an invalid gradient"):
            y.sum().backward()
    assert (y.grad_fn.name, y.grad_fn.device) == ("mine", torch.device("cpu"))
    assert "NamedBackward" in [event.name for event in of_kind(trace, ev.NodeStarted)]


def test_each_definition_makes_a_node_class_with_another_number() -> None:
    numbers = [vars(cls._backward_cls)["_autograd_function_id"] for cls in (Square, Same, Double)]
    assert numbers == sorted(set(numbers))
    assert Square._backward_cls._forward_cls is Square
    assert issubclass(Square._backward_cls, FunctionBase)


def test_function_inside_a_transform_needs_a_vmap_rule() -> None:
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        torch.vmap(Square.apply)(leaf())
    with pytest.raises(RuntimeError, match="You tried to vmap over Same, but it does not have vmap support"):
        torch.vmap(Same.apply)(leaf())


def test_marking_a_former_leaf_dirty_leaves_its_accumulator_without_a_tensor() -> None:
    x = leaf()
    y = x * 2  # holds the accumulator
    x.requires_grad_(False)
    AddTo.apply(x, leaf())
    assert y.grad_fn.next_functions[0][0].variable is None
    with pytest.raises(RuntimeError, match="on undefined tensor"):
        y.sum().backward()


def test_deprecated_saved_variables_warns() -> None:
    node = Square.apply(leaf()).grad_fn
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        assert node.saved_variables[0].tolist() == [1.0, 2.0]
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        node.mark_shared_storage()


def test_delayed_errors_are_called_on_tensors() -> None:
    error = torch._C._functions.DelayedError(b"not twice", 2)
    x = leaf()
    a, b = error(x, None)
    assert b is None
    assert a.grad_fn.name() == "torch::autograd::Error"
    assert [entry.is_undefined for entry in a.grad_fn.input_metadata] == [False, True]
    (plain, _) = error(x.detach(), None)
    assert plain.grad_fn is None
    with pytest.raises(RuntimeError, match="not twice"):
        a.sum().backward()


def test_the_users_own_source_is_shown_where_it_runs() -> None:
    """The source is that of the forward while it runs, and of the backward while the engine runs its Node."""
    name = shown_file(__file__)
    x = leaf()
    with dispatchviz.record() as recorded:
        Square.apply(x).sum().backward()
    header = msgspec.structs.replace(recorded.header, sources={name: Path(__file__).read_text("utf-8")})
    trace = Trace(header, [*recorded])
    (entered,) = of_kind(trace, ev.FunctionEntered)
    started = next(event for event in of_kind(trace, ev.NodeStarted) if event.name == "SquareBackward")
    for event, text in ((entered, "return x * x"), (started, "return grad * 2 * x")):
        shown = source_at(trace, event.seq)
        assert (shown.running, shown.running_first) == (name, event.line)
        assert shown.running_lines[-1].strip() == text


CTX_NAMES = ("_saved", "_freed", "_needs", "_dirty", "_boxed", "_materialize", "_input_info", "_gradients", "evaluate")


@pytest.mark.parametrize("name", CTX_NAMES)
def test_any_attribute_of_ctx_belongs_to_the_user(name: str) -> None:
    """An attribute of any name leaves the Node unchanged."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            setattr(ctx, name, "mine")
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * x if getattr(ctx, name) == "mine" and ctx.needs_input_grad == (True,) else None

    x = torch.full((2,), 3.0, requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("name", ["name", "device", "stream"])
def test_tensor_prints_with_any_attributes_on_its_ctx(torch: Any, name: str) -> None:
    class Twice(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            setattr(ctx, name, "mine")
            return x * 2

    assert repr(Twice.apply(torch.ones(2, requires_grad=True))).endswith("grad_fn=<TwiceBackward>)")

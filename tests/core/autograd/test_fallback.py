"""Operators without a derivative: the fallback that warns, and the boxed kernels that raise."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.autograd.kernels.not_implemented_fallback import (
    autograd_not_implemented_fallback,
    autograd_not_implemented_inplace_or_view_fallback,
)
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.table.library import Library

K = DispatchKey
_numbers = itertools.count()

Define = Callable[..., Any]


@pytest.fixture
def define(torch: Any) -> Iterator[Define]:
    """Return ``define(schema, kernel)``, which defines an operator with nothing but a kernel for the CPU and returns
    its overload packet.
    """
    made = []

    def make(schema: str, kernel: Callable[..., Any]) -> Any:
        namespace = f"dvz_fallback_test_{next(_numbers)}"
        library = torch.library.Library(namespace, "DEF")
        made.append(library)
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CPU")
        return getattr(getattr(torch.ops, namespace), schema.partition("(")[0])

    yield make
    torch._C._set_autograd_fallback_mode("warn")
    for library in made:
        library._destroy()


def caught(function: Callable[[], Any]) -> list[str]:
    """The texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in found]


def test_the_result_leads_to_a_node_that_warns(torch: Any, define: Define) -> None:
    f = define("f(Tensor x, Tensor y) -> Tensor", lambda x, y: x.detach() + 1)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    z = f(x, y)
    node = z.grad_fn
    assert node.name() == "torch::autograd::WarnNotImplemented"
    assert [target is None for target, _ in node.next_functions] == [False, True]
    (text,) = caught(lambda: z.sum().backward())
    assert text.startswith(
        f"{f._qualified_op_name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
        "backprop through it. This may lead to silently incorrect behavior."
    )
    assert text.endswith(
        "please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd. (Triggered internally at "
        "/__w/pytorch/pytorch/torch/csrc/autograd/autograd_not_implemented_fallback.cpp:76.)"
    )
    assert x.grad is None


def test_gradients_are_undefined(torch: Any, define: Define) -> None:
    f = define("f(Tensor x) -> Tensor", lambda x: x.detach() + 1)
    x = torch.ones(2, requires_grad=True)
    z = f(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.autograd.grad(z.sum(), x, allow_unused=True) == (None,)


def test_a_result_with_a_history_keeps_it_and_warns(torch: Any, define: Define) -> None:
    f = define("f(Tensor x) -> Tensor", lambda x: x * 3)
    x = torch.ones(2, requires_grad=True)
    z = f(x)
    assert z.grad_fn.name() == "MulBackward0"
    assert len(caught(lambda: z.sum().backward())) == 1
    assert x.grad.tolist() == [3.0, 3.0]


def test_sequence_number_is_taken_before_the_kernel_runs(torch: Any, define: Define) -> None:
    """The Node is created before the redispatch, so the Nodes of the kernel have larger numbers."""
    seen = []

    def kernel(x: Any) -> Any:
        seen.append((x * 2).grad_fn._sequence_nr())
        return x.detach() + 1

    f = define("f(Tensor x) -> Tensor", kernel)
    x = torch.ones(2, requires_grad=True)
    assert f(x).grad_fn._sequence_nr() + 1 == seen[0]


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_no_node_is_created_while_grad_mode_is_off(torch: Any, define: Define, mode: str) -> None:
    f = define("f(Tensor x) -> Tensor", lambda x: x.detach() + 1)
    x = torch.ones(2, requires_grad=True)
    with getattr(torch, mode)():
        assert not f(x).requires_grad
    assert not f(torch.ones(2)).requires_grad


def test_results_that_cannot_require_grad_are_left_alone(torch: Any, define: Define) -> None:
    f = define("f(Tensor x) -> (Tensor, Tensor)", lambda x: (x > 0, x.detach().to(torch.int64)))
    a, b = f(torch.ones(2, requires_grad=True))
    assert (a.grad_fn, b.grad_fn) == (None, None)


def test_written_arguments_get_no_node(torch: Any, define: Define) -> None:
    f_ = define("f_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x)
    x = torch.ones(2)
    assert f_(x, torch.ones(2, requires_grad=True)) is x
    assert not x.requires_grad


def test_a_written_view_warns_at_its_base_too(torch: Any, define: Define) -> None:
    f_ = define("f_(Tensor(a!) x) -> Tensor(a!)", lambda x: x)
    base = torch.ones(2, requires_grad=True).clone()
    view = base.view(2, 1)
    f_(view)
    assert len(caught(lambda: base.sum().backward())) == 1
    assert len(caught(lambda: view.sum().backward())) == 2


def test_fallback_mode_can_be_set(torch: Any, define: Define) -> None:
    f = define("f(Tensor x) -> Tensor", lambda x: x.detach() + 1)
    x = torch.ones(2, requires_grad=True)
    assert torch._C._get_autograd_fallback_mode() == "warn"
    torch._C._set_autograd_fallback_mode("nothing")
    assert torch._C._get_autograd_fallback_mode() == "nothing"
    assert not f(x).requires_grad
    with pytest.raises(RuntimeError, match=r"^NYI: mode='error'$"):
        torch._C._set_autograd_fallback_mode("error")
    with pytest.raises(RuntimeError, match="Unsupported AutogradFallbackMode: loud"):
        torch._C._set_autograd_fallback_mode("loud")
    with pytest.raises(TypeError, match=r"_set_autograd_fallback_mode\(\): incompatible function arguments"):
        torch._C._set_autograd_fallback_mode(1)
    assert torch._C._get_autograd_fallback_mode() == "nothing"


def test_backward_of_an_operator_without_derivative_raises(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.aten.detach_copy(x * 1)
    assert y.grad_fn.name() == "torch::autograd::NotImplemented"
    assert y.grad_fn._sequence_nr() == 2**64 - 1
    assert len(y.grad_fn.next_functions) == 1
    with pytest.raises(RuntimeError, match=r"^derivative for aten::detach_copy is not implemented$"):
        y.sum().backward()


def test_edges_lead_only_to_arguments_that_require_grad(torch: Any) -> None:
    copied = torch.ops.aten.copy(torch.ones(2), torch.ones(2, requires_grad=True))
    assert [type(target).__name__ for target, _ in copied.grad_fn.next_functions] == ["AccumulateGrad"]


# -- events, and registrations that need C++ ---------------------------------------------------------------------------


def test_node_and_its_absence_are_recorded() -> None:
    library = model.library.Library("dvz_fallback_told", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.detach() + 1, "CPU")
    x = model.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        model.ops.dvz_fallback_told.f(x)
        model.ops.dvz_fallback_told.f(x.detach())
    library._destroy()
    assert [e.name for e in trace if isinstance(e, ev.NodeCreated)].count("torch::autograd::WarnNotImplemented") == 1
    why = [e.why for e in trace if isinstance(e, ev.NoNodeMade) if e.operator == "dvz_fallback_told::f"]
    assert why == ["no input requires grad"]


@pytest.fixture
def boxed() -> Iterator[Define]:
    """Return a function like ``define``, which also registers both boxed kernels. In PyTorch only C++ can register
    them.
    """
    made: list[Any] = []

    def make(schema: str, kernel: Callable[..., Any]) -> Any:
        namespace, name = f"dvz_boxed_test_{next(_numbers)}", schema.partition("(")[0]
        library = Library("DEF", namespace)
        made.append(library)
        library.def_(schema)
        library.impl(name, Kernel("kernel", lambda ks, *args: kernel(*args), "test"), K.CPU)
        functions = (
            (K.Autograd, autograd_not_implemented_fallback),
            (K.ADInplaceOrView, autograd_not_implemented_inplace_or_view_fallback),
        )
        for key, function in functions:
            library.impl(name, Kernel(function.__name__, function, "test", boxed=True), key)
        return getattr(getattr(model.ops, namespace), name)

    yield make
    for library in made:
        library.reset()


def test_a_boxed_in_place_operator_counts_and_rebases(boxed: Define) -> None:
    f_ = boxed("f_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x)
    x, y = model.ones(2) * 1, model.ones(2, requires_grad=True)
    assert f_(x, y) is x
    assert (x._version, x.grad_fn.name()) == (1, "torch::autograd::NotImplemented")
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        f_(y, y)


def test_a_boxed_out_operator_refuses_leaves_that_require_grad(boxed: Define) -> None:
    f = boxed("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", lambda x, out: out)
    leaf = model.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"f\(\): functions with out=\.\.\. arguments don't support automatic"):
        f(model.ones(2), out=leaf)
    assert f(leaf, out=model.ones(2)).grad_fn.name() == "torch::autograd::NotImplemented"


def test_a_boxed_view_may_not_be_written_to(boxed: Define) -> None:
    f = boxed("f(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1))
    x = model.ones(2, requires_grad=True) * 1
    view = f(x)
    assert view._base is x
    with pytest.raises(RuntimeError, match=r"^Mutating the view .*::fwhich does not have a derivative implemented"):
        view.mul_(2)
    again = f(model.ones(2, requires_grad=True) * 1).view(2, 1)
    with pytest.raises(RuntimeError, match=r"^Mutating the view"):
        again.mul_(2)


def test_boxed_views_in_a_list_are_outputs_of_one_node(boxed: Define) -> None:
    f = boxed("f(Tensor(a) x) -> Tensor(a)[]", lambda x: [x.view(-1), x.view(-1)])
    first, second = f(model.ones(2, requires_grad=True) * 1)
    assert (first.grad_fn.name(), second.output_nr) == ("torch::autograd::NotImplemented", 1)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        first.mul_(2)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("f(Tensor(a) x, Tensor(b) y) -> Tensor(a)", "Expected only a single input in the operator schema"),
        ("f(Tensor(a) x) -> (Tensor(a), Tensor(a))", "Expected only a single output in the operator schema"),
    ],
)
def test_boxed_kernels_accept_only_one_view(boxed: Define, schema: str, message: str) -> None:
    f = boxed(schema, lambda *args: args[0])
    args = [model.ones(2)] * (1 + schema.count("Tensor(b)"))
    with pytest.raises(RuntimeError, match=message):
        f(*args)


def test_a_boxed_view_must_be_of_the_first_argument(boxed: Define) -> None:
    f = boxed("f(Tensor x, Tensor(a) y) -> Tensor(a)", lambda x, y: y.view(-1))
    with pytest.raises(RuntimeError, match="can only create view relationships between the first input and the first"):
        f(model.ones(2), model.ones(2))


def test_only_in_place_operators_and_views_keep_adinplaceorview(boxed: Define) -> None:
    plain, in_place = (
        boxed("f(Tensor x) -> Tensor", lambda x: x * 2),
        boxed("f_(Tensor(a!) x) -> Tensor(a!)", lambda x: x),
    )
    with dispatchviz.record() as trace:
        plain(model.ones(2))
        in_place(model.ones(2))
    sets = [e.key_set for e in trace if isinstance(e, ev.Dispatched) and e.operator.startswith("dvz_boxed")]
    assert sets == [0x1400010001, 0x10001, 0x1400010001, 0x400010001, 0x10001]


def test_warnings_of_backward_are_issued_at_its_end() -> None:
    library = model.library.Library("late", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.detach().clone(), "CPU")
    x, so_far = model.tensor([1.0, 2.0], requires_grad=True), []
    y = model.ops.late.f(x) + model.ops.late.f(x.neg()) + x
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        y.register_hook(lambda grad: (model.std(model.ones(1)), None)[1])  # a hook's own come at once
        x.register_hook(lambda grad: so_far.append(len(given)))
        y.sum().backward()
    assert so_far == [1]
    assert [str(each.message).partition(":")[0] for each in given] == ["std()", "late", "late"]
    library._destroy()

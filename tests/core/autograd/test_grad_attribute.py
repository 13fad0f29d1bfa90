"""The attribute ``.grad``: its memory, assigning it, and gradient edges."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz.torch as torch
from dispatchviz import torch as model
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.record import events
from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.warning import reset_warnings
from tests.explain.programs import traced

from .leaves import of_kind, record

WATCHED = ("detach", "new_empty_strided", "copy_", "clone", "add_Tensor", "add__Tensor")
STOLEN, COPIED = ["detach"], ["new_empty_strided", "copy_"]

Program = Callable[[], Callable[[], Any]]


def leaf(*values: float) -> Any:
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def ones(*size: int) -> Any:
    return torch.ones(*(size or (2,)))


def backward_of(build: Callable[[Any], Any], *size: int) -> Program:
    """A program that builds a graph on a leaf and returns its backward."""

    def program() -> Callable[[], Any]:
        result = build(leaf())
        return lambda: result.backward(ones(*size))

    return program


def hooked(kind: str, hook: Callable[..., Any]) -> Program:
    def program() -> Callable[[], Any]:
        x = leaf()
        y = x.exp()
        accumulator = y.grad_fn.next_functions[0][0]
        register = {
            "tensor": x.register_hook,
            "pre": accumulator.register_prehook,
            "post": accumulator.register_hook,
            "post-accumulate": x.register_post_accumulate_grad_hook,
        }[kind]
        register(hook)
        return lambda: y.backward(ones())

    return program


def twice() -> Callable[[], Any]:
    x = leaf()
    x.exp().backward(ones())
    y = x.exp()
    return lambda: y.backward(ones())


kept: list[Any] = []

PROGRAMS: list[tuple[Program, list[str]]] = [
    (backward_of(lambda x: x.exp()), STOLEN),
    (backward_of(lambda x: x), COPIED),
    (backward_of(lambda x: x.clone()), COPIED),
    (backward_of(lambda x: x + leaf()), COPIED + COPIED),
    (backward_of(lambda x: (x + leaf()).exp()), COPIED + STOLEN),
    (backward_of(lambda x: x - leaf()), COPIED + STOLEN),
    (backward_of(lambda x: x + x), ["add_Tensor", *STOLEN]),
    (backward_of(lambda x: x * x), ["add__Tensor", *STOLEN]),
    (backward_of(lambda x: x.exp() + x.exp()), ["add__Tensor", *STOLEN]),
    (backward_of(lambda x: x.exp() + x.exp() + x), ["add_Tensor", "add__Tensor", *STOLEN]),
    (backward_of(lambda x: x.view(2, 1).exp().view(2) + x.exp()), ["add__Tensor", *STOLEN]),
    (backward_of(lambda x: x.exp() + x.view(2, 1).exp().view(2)), ["add_Tensor", *STOLEN]),
    (backward_of(lambda x: x.expand(2, 2).exp(), 2, 2), STOLEN),
    (hooked("tensor", lambda grad: None), STOLEN),
    (hooked("tensor", lambda grad: grad.exp()), STOLEN),
    (hooked("tensor", lambda grad: kept.append(grad)), COPIED),
    (hooked("pre", lambda grads: None), STOLEN),
    (hooked("pre", lambda grads: kept.append(grads)), COPIED),
    (hooked("post", lambda outs, grads: None), STOLEN),
    (hooked("post-accumulate", lambda x: None), STOLEN),
    (twice, ["add__Tensor"]),
]


def calls(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> list[str]:
    """The watched operators that ``run`` calls, without any recorder."""
    log: list[str] = []

    def watch(name: str) -> None:
        operator = getattr(ops, name)
        call = operator.call

        def watched(*args: Any) -> Any:
            log.append(name)
            return call(*args)

        monkeypatch.setattr(operator, "call", watched)

    for name in WATCHED:
        watch(name)
    run()
    return log


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_calls_equal_pytorchs(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    program, expected = PROGRAMS[number]
    assert calls(monkeypatch, program()) == expected


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_recording_does_not_change_the_calls(number: int) -> None:
    program, expected = PROGRAMS[number]
    trace = record(program())
    called = [
        event.operator.removeprefix("aten::") for event in of_kind(trace, events.Dispatched) if event.how == "call"
    ]
    names = {"add.Tensor": "add_Tensor", "add_.Tensor": "add__Tensor"}
    assert [name for name in (names.get(name, name) for name in called) if name in WATCHED] == expected


@pytest.mark.parametrize(
    ("program", "how", "why"),
    [
        (backward_of(lambda x: x.exp()), "stolen", "grad mode is off, only the engine holds"),
        (backward_of(lambda x: x.clone()), "copied", "the gradient has another reference"),
        (backward_of(lambda x: x.view(1, 2).t().exp(), 2, 1), "stolen", "grad mode is off, only the engine holds"),
        (twice, "added in place", ".grad exists and grad mode is off"),
    ],
)
def test_accumulation_has_these_reasons(program: Program, how: str, why: str) -> None:
    (event,) = of_kind(record(program()), events.GradientAccumulated)
    assert (event.how, event.why.startswith(why)) == (how, True)


def test_other_strides_are_a_reason_to_copy() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.t().exp()
    (event,) = of_kind(record(lambda: y.backward(ones(2, 2))), events.GradientAccumulated)
    why = "the layout contract requires the leaf's strides, [2, 1], and the gradient has [1, 2]"
    assert (event.how, event.why) == ("copied", why)


def test_a_leaf_with_overlaps_gets_a_contiguous_gradient() -> None:
    x = torch.tensor([1.0, 2.0]).expand(2, 2).requires_grad_()
    y = x.t().exp()
    (event,) = of_kind(record(lambda: y.backward(ones(2, 2))), events.GradientAccumulated)
    assert (event.how, event.why.startswith("the layout contract requires a contiguous .grad")) == ("copied", True)


def test_a_sum_with_a_subclass_is_not_in_place() -> None:
    """``!at::isTensorSubclassLike(var)`` of ``input_buffer.cpp``: PyTorch calls add.Tensor, not add_.Tensor."""
    calls = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=inner.device)

        def __init__(self, inner: Any) -> None:
            self.wrapped = inner

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(str(func))
            return cls(func(*[getattr(given, "wrapped", given) for given in args], **(kwargs or {})))

    class Wraps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return Wrapper(grad * 2)

    y = torch.ones(3, requires_grad=True) * 1
    wrapped = Wraps.apply(y)
    (wrapped + y.exp()).sum().backward()
    assert calls[0] == "aten.add.Tensor"


def test_create_graph_adds_out_of_place() -> None:
    x = leaf()
    with reset_warnings(), pytest.warns(UserWarning, match="will create a reference cycle"):
        (x.exp() + x.exp()).backward(ones(), create_graph=True)
    y = x.exp() + x.exp()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = record(lambda: y.backward(ones(), create_graph=True))
    assert [event.how for event in of_kind(trace, events.GradientBuffered)][-2:] == ["stored", "added out of place"]
    (event,) = of_kind(trace, events.GradientAccumulated)
    assert event.how == "added out of place"
    assert x.grad.requires_grad
    x.grad = None


def test_buffered_gradients_have_these_reasons() -> None:
    x = leaf()
    shared, own = x + x, x * x
    in_buffers = [
        [(event.how, event.why) for event in of_kind(record(lambda y=y: y.backward(ones())), events.GradientBuffered)]
        for y in (shared, own)
    ]
    first = ("stored", "it is the first gradient for this input")
    assert in_buffers == [
        [first, first, ("added out of place", "the earlier gradient has another reference")],
        [first, first, ("added in place", "grad mode is off and only the buffer holds the earlier gradient")],
    ]


def test_layout_policy_takes_effect_at_once_and_is_restored(torch: Any) -> None:
    enforced = torch._C._is_grad_layout_enforcement_enabled

    def strides() -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        x.sum().backward()
        return enforced(), x.grad.stride()

    assert strides() == (True, (3, 1))
    with torch.autograd.enforce_grad_layout_policy(False):
        assert strides() == (False, (0, 0))
    relaxed = torch.autograd.enforce_grad_layout_policy(False)(strides)
    assert (enforced(), relaxed(), enforced()) == (True, (False, (0, 0)), True)
    with pytest.raises(TypeError, match=r"^set_grad_layout_enforcement_enabled\(\): .* must be bool, not int$"):
        torch.autograd.enforce_grad_layout_policy(1)


HEAD = """
import copy, pickle, torch
x = torch.ones(2, requires_grad=True)
"""

SETTING = {
    "assigned": ("x.grad = torch.ones(2)", ["set"]),
    "again the same": ("g = torch.ones(2)\nx.grad = g\nx.grad = g", ["set"]),
    "deleted": ("x.grad = torch.ones(2)\ndel x.grad", ["set", "none"]),
    "deleted without being there": ("del x.grad\nx.grad = None", []),
    "refused": ("try:\n    x.grad = torch.ones(3)\nexcept RuntimeError:\n    pass", []),
    "accumulated": ("(x * 2).sum().backward()\nx.grad = None", ["accumulated", "none"]),
    "retained": ("y = x * 2\ny.retain_grad()\ny.sum().backward()", ["retained", "accumulated"]),
    "captured": ("torch.autograd.grad((x * 2).sum(), x)", []),
    "zero_grad": (
        "(x * 2).sum().backward()\ntorch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=True)",
        ["accumulated", "none"],
    ),
    "zeros": ("(x * 2).sum().backward()\ntorch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)", ["accumulated"]),
    "deepcopy": ("x.grad = torch.ones(2)\ny = copy.deepcopy(x)", ["set", "set"]),
    "deepcopy without": ("y = copy.deepcopy(x)", []),
    "pickle": ("x.grad = torch.ones(2)\ny = pickle.loads(pickle.dumps(x))", ["set"]),
    "written by a Function": (
        """
class Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b)
    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient
y = torch.ones(2)
y.grad = torch.ones(2)
Write.apply(y, x)
assert y._grad is None
""",
        ["set", "none"],
    ),
}


@pytest.mark.parametrize("name", SETTING)
def test_setting_grad_is_recorded(name: str) -> None:
    source, expected = SETTING[name]
    trace = traced(HEAD + source)
    assert not [event.message for event in trace if isinstance(event, ev.ProgramRaised)]
    recorded = []
    for event in trace:
        if isinstance(event, ev.GradientAccumulated):
            recorded.append("accumulated")
        elif isinstance(event, ev.GradSet):
            recorded.append("none" if event.result is None else "retained" if event.retained else "set")
    assert recorded == expected


@pytest.mark.torch
@pytest.mark.parametrize("name", SETTING)
def test_final_grad_equals_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    source = HEAD + SETTING[name][0]
    assert _grads(model, source) == _grads(torch, source)


@pytest.mark.torch
def test_wrong_values_for_grad_are_refused() -> None:
    """The rule of the event lists the same cases."""
    torch = pytest.importorskip("torch")
    for made in (model, torch):
        x = made.ones(2, requires_grad=True)
        for value in (made.ones(3), made.ones(2, dtype=made.float64), made.ones(2, device="meta")):
            with pytest.raises(RuntimeError, match=r"attempting to assign a gradient|assigned grad has data"):
                x.grad = value
        x.grad = None
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype == x.dtype
    x.grad_dtype = torch.float64
    x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="grad_dtype"):
        x.grad = torch.ones(2)


def _grads(torch: Any, source: str) -> dict[str, Any]:
    """The ``.grad`` of each variable, None where it has none."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a tensor is no leaf
        patch.setitem(sys.modules, "torch", torch)
        exec(source, names)
        tensors = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
        return {name: None if tensor._grad is None else tensor._grad.tolist() for name, tensor in tensors.items()}

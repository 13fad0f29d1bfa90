"""The stack of transforms and the key sets that they force. The numbers are those of PyTorch 2.13."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set, raw
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.layers.functorch import dynamic_layer
from dispatchviz.core.layers.functorch.ad_interpreters import GradInterpreter
from dispatchviz.core.layers.functorch.batched_tensor import make_batched
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.layers.functorch.tensor_wrapper import LifeHandle, TensorWrapperImpl, unwrap_if_dead
from dispatchviz.core.record import events as ev
from dispatchviz.core.tensor.tensor import Storage, Tensor
from dispatchviz.core.thread.thread_state import thread

OUTSIDE = 0x200000424000000
"""The thread-local include set while a transform runs, between operators."""


def sets() -> tuple[int, int]:
    return thread.state.included, thread.state.excluded


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert sets() == (default_included_set, default_excluded_set)
    assert not thread.state.dynamic_layers


def x() -> Any:
    return torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def test_key_sets_inside_a_transform_equal_pytorchs() -> None:
    seen: list[Any] = []
    torch.vmap(lambda a: (seen.append(sets()), a)[1])(x())
    assert seen == [(OUTSIDE, default_excluded_set)]


def test_sets_that_vmap_forces() -> None:
    forced = VmapInterpreter(1, 2, "error").dispatch_keys(OUTSIDE, default_excluded_set)
    assert [hex(keys) for keys in forced] == ["0x208000424000000", "0x3f1ffffc000ffff"]


def test_sets_that_grad_forces() -> None:
    included, excluded = GradInterpreter(1, True).dispatch_keys(OUTSIDE, default_excluded_set)
    assert hex(included) == hex(OUTSIDE)
    assert hex(excluded) == "0x3f7ffc3c000ffff"


def test_levels_count_from_the_outermost() -> None:
    functorch = torch._C._functorch
    assert functorch._vmap_increment_nesting(2, "error") == 1
    assert functorch._vmap_increment_nesting(3, "same") == 2
    assert functorch.current_level() == 2
    assert functorch._vmap_decrement_nesting() == 2
    assert thread.state.included == OUTSIDE
    assert functorch._vmap_decrement_nesting() == 1


@pytest.mark.parametrize(
    ("make", "keys"),
    [
        (lambda: torch.ones(2, 3), 0x2009400010001),
        (lambda: torch.ones(2, 3, device="cuda"), 0x2801400010002),
        (lambda: torch.ones(2, 3, device="meta"), 563001493094400),
        (lambda: torch.ones(2, 3, dtype=torch.cfloat).conj(), 563587756130305),
    ],
    ids=["cpu", "cuda", "meta", "conj"],
)
def test_keys_of_a_batched_tensor(make: Callable[[], Any], keys: int) -> None:
    found = torch.vmap(lambda a: torch._C._dispatch_keys(a).raw_repr(), out_dims=None)(make())
    assert hex(found) == hex(keys)


def test_batched_tensor_in_inference_mode_has_no_autograd_key() -> None:
    with torch.inference_mode():
        batched = make_batched(torch.ones(2), 0, 1)
    assert batched._ks == 563499709300737


def test_a_batched_tensor_shows_one_example() -> None:
    batched = make_batched(torch.ones(2, 3, 4), 1, 1)
    assert (batched._size, batched._stride) == ((2, 4), (12, 1))
    twice = make_batched(batched, 0, 2)
    assert (twice._size, twice._stride) == ((4,), (1,))


def test_an_error_in_the_function_ends_the_transform() -> None:
    with pytest.raises(ZeroDivisionError):
        torch.vmap(lambda a: torch.vmap(lambda b: 1 // 0)(a))(x())


def test_error_in_a_kernel_restores_layers_and_key_sets() -> None:
    def f(a: Any) -> Any:
        before = sets(), list(thread.state.dynamic_layers)
        with pytest.raises(RuntimeError, match="must match the size"):
            a + torch.ones(2)
        assert (sets(), thread.state.dynamic_layers) == before
        assert thread.state.dynamic_layers[0].saved is None
        return a.sin()

    assert torch.vmap(f)(x()).shape == (2, 3)


def test_other_threads_have_no_transform() -> None:
    found: list[Any] = []

    def f(a: Any) -> Any:
        other = threading.Thread(target=lambda: found.append((sets(), torch.ones(2).sin())))
        other.start()
        other.join()
        return a

    torch.vmap(f)(x())
    assert found[0][0] == (default_included_set, default_excluded_set)


# -- wrappers that outlive their transform -----------------------------------------------------------------------------


def wrapper(value: Tensor, alive: bool) -> Tensor:
    life = LifeHandle()
    life.alive = alive
    made = Tensor(
        value._ks | raw(K.FuncTorchGradWrapper), None, Storage(None), value._size, value._stride, 0, value._dtype,
        value._device,
    )  # fmt: skip
    made._impl = TensorWrapperImpl(value, 1, life)
    return made


def test_a_wrapper_that_escaped_from_grad_is_dead() -> None:
    kept: list[Any] = []
    torch.func.grad(lambda a: (kept.append(a), a.sum())[1])(torch.ones(2))
    (escaped,) = kept
    assert escaped._ks == 0x40009400010001
    assert torch._C._functorch.maybe_get_level(escaped) == 1
    assert (escaped * 3).tolist() == [3.0, 3.0]


def test_levels_of_grad_have_histories_of_their_own() -> None:
    seen: list[Any] = []

    def f(a: Any) -> Any:
        out = a.sin().sum()
        inner = torch._C._functorch.get_unwrapped(out)
        seen.append((out.grad_fn.name(), inner.grad_fn.name(), torch._C._functorch.is_gradtrackingtensor(out)))
        return out

    torch.func.grad(f)(torch.ones(2, requires_grad=True))
    assert seen == [("SumBackward0", "SumBackward0", True)]


def test_calls_unwrap_dead_wrappers() -> None:
    value = torch.tensor([1.0, 2.0])
    assert (wrapper(value, alive=False) + value).tolist() == [2.0, 4.0]
    assert torch.vmap(lambda a: a + wrapper(value, alive=False))(torch.ones(3, 2)).shape == (3, 2)


def test_only_dead_wrappers_are_unwrapped() -> None:
    value = torch.tensor([1.0])
    alive, dead = wrapper(value, True), wrapper(value, False)
    assert unwrap_if_dead(alive) is alive
    assert unwrap_if_dead(dead) is value
    assert unwrap_if_dead([dead, 3]) == [value, 3]


# -- recorded events ---------------------------------------------------------------------------------------------------


def recorded(function: Callable[[], Any]) -> list[Any]:
    with dispatchviz.record() as trace:
        function()
    return list(trace)


def test_every_popped_layer_is_pushed_again() -> None:
    events = recorded(lambda: torch.vmap(torch.vmap(torch.sin))(x()))
    depth = 0
    seen: list[tuple[str, int, str]] = []
    for event in events:
        if isinstance(event, (ev.DynamicLayerPushed, ev.DynamicLayerPopped)):
            depth += 1 if isinstance(event, ev.DynamicLayerPushed) else -1
            seen.append((type(event).__name__[12:], event.level, event.why))
    assert depth == 0
    assert seen == [
        ("Pushed", 1, "begins"), ("Pushed", 2, "begins"), ("Popped", 2, "passes the call on"),
        ("Popped", 1, "passes the call on"), ("Pushed", 1, "is pushed again"), ("Pushed", 2, "is pushed again"),
        ("Popped", 2, "ends"), ("Popped", 1, "ends"),
    ]  # fmt: skip


def test_last_layer_removes_front_and_back_from_the_include_set() -> None:
    popped = [e for e in recorded(lambda: torch.vmap(torch.sin)(x())) if isinstance(e, ev.DynamicLayerPopped)]
    assert [hex(event.included) for event in popped] == [hex(default_included_set)] * 2


def test_forced_sets_are_recorded_by_guards() -> None:
    batch = x()
    guards = [e for e in recorded(lambda: torch.vmap(torch.sin)(batch)) if isinstance(e, ev.GuardEntered)]
    assert [(g.guard, hex(g.included), hex(g.excluded)) for g in guards] == [
        ("SaveLocalDispatchKeySet", "0x208000424000000", "0x3f1ffffc000ffff"),
        ("ExcludeDispatchKeyGuard", "0x208000424000000", "0x3f3ffffc000ffff"),
        ("ForceDispatchKeyGuard", hex(OUTSIDE), hex(default_excluded_set)),
        ("AutoDispatchBelowADInplaceOrView", "0x404000000", "0x1ffbc00000000"),
    ]


@pytest.mark.parametrize("function", [torch.sin, lambda a: torch.add(a, a)], ids=["sin", "add"])
def test_boxing_and_unboxing_are_recorded_in_pairs(function: Callable[..., Any]) -> None:
    """Check that each boxing is followed by an unboxing.

    Front boxes for its fallback, and the batch rule's plumbing unboxes. Back boxes again, and the autograd kernel
    unboxes.
    """
    batch = x()
    events = recorded(lambda: torch.vmap(function)(batch))
    names = [type(e).__name__ for e in events if isinstance(e, (ev.Boxed, ev.Unboxed))]
    assert names == ["Boxed", "Unboxed", "Boxed", "Unboxed", "Boxed", "Unboxed", "Boxed", "Unboxed"]


def test_batched_tensor_event_has_the_hidden_dimension() -> None:
    events = recorded(lambda: torch.vmap(torch.sin, in_dims=1)(x()))
    made = [e for e in events if isinstance(e, ev.BatchedTensorMade)]
    assert [(event.bdim, event.level) for event in made] == [(1, 1), (1, 1)]


def test_no_functorch_event_is_recorded_outside_of_transforms() -> None:
    events = recorded(lambda: torch.sin(x()))
    assert not [e for e in events if isinstance(e, ev.Dispatched) and e.key.startswith("FuncTorch")]


def test_front_needs_a_layer() -> None:
    assert dynamic_layer.maybe_current_layer() is None

"""Batch rule plumbing: the code that unwraps batched tensors, calls the rule, and wraps the results
(``VmapGeneratedPlumbing.h``).

A batch rule gets, for every tensor argument, the physical tensor and its batch dimension (None if this level does not
batch it), and returns the same for its result. PyTorch generates the code around it per operator. Here one function
does it from the operator's schema. ``plumbed`` is for operators that return new tensors, ``plumbed_inplace`` for those
that write to self.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.call.dispatcher import boxed_keys, call
from dispatchviz.core.keys.key_set import functorch_batched_ks
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.dynamic_layer import DynamicLayer, maybe_current_layer
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard

Batched = tuple[Tensor, int | None]
"""A physical tensor and its batch dimension."""
BatchRule = Callable[..., Any]
"""The function ``rule(self, self_bdim, other, other_bdim, alpha)``. It returns a Batched, or the members of several in
a row.
"""
Kernel = Callable[..., Any]
"""The function ``kernel(ks, *args)``."""


def exclude_batched() -> ExcludeDispatchKeyGuard:
    """Return the guard around a batch rule, whose calls are not batched at this level."""
    return ExcludeDispatchKeyGuard(functorch_batched_ks)


def checked_layer(what: str) -> DynamicLayer:
    """Return the layer on top. Raise RuntimeError if a BatchedTensor is used outside of any transform
    (``vmap_check_escaped``).
    """
    layer = maybe_current_layer()
    if layer is None:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
            "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
            f"`{what}` Please file an issue if it looks like the latter"
        )
    return layer


def call_operator(op: OperatorEntry, args: Sequence[Any]) -> Any:
    """Call any operator (``at::_ops::X::call``)."""
    kernel, ks = call(op, boxed_keys(op, args))
    return kernel(ks, *args)


def plumbed(name: str, rule: BatchRule) -> Kernel:
    """Return the kernel of an operator that returns new tensors. ``name`` is without ``aten::``."""

    def kernel(ks: int, *args: Any) -> Any:
        op, positions = _operator(name)
        with exclude_batched():
            level = checked_layer("gen_vmap_plumbing").level
            if not any(is_batched_at_level(args[position], level) for position in positions):
                return call_operator(op, args)
            return _wrapped(rule(*_unwrapped(args, positions, level)), level)

    return _named(kernel, rule)


def _wrapped(returned: Sequence[Any], level: int) -> Any:
    """Return the operator's results: each tensor with the batch dimension that follows it. A list has one for all
    members.
    """
    results = [
        [make_batched(one, bdim, level) for one in result]
        if isinstance(result, list)
        else make_batched(result, bdim, level)
        for result, bdim in zip(returned[::2], returned[1::2], strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def plumbed_inplace(name: str, rule: BatchRule) -> Kernel:
    """Return the kernel of an operator that writes to self and returns it."""

    def kernel(ks: int, *args: Any) -> Any:
        op, positions = _operator(name)
        with exclude_batched():
            level = checked_layer("gen_vmap_inplace_plumbing").level
            if not any(is_batched_at_level(args[position], level) for position in positions):
                return call_operator(op, args)
            rule(*_unwrapped(args, positions, level))
            return args[0]

    return _named(kernel, rule)


def _named(kernel: Kernel, rule: BatchRule) -> Kernel:
    """Mark the rule as the kernel's source, which screens show."""
    kernel.__wrapped__ = rule  # type: ignore[attr-defined]
    return kernel


@cache
def _operator(name: str) -> tuple[OperatorEntry, tuple[int, ...]]:
    """Return the operator and the positions of its tensor arguments."""
    op = find(f"aten::{name}")
    return op, tuple(op.schema.tensor_positions)


def _unwrapped(args: Sequence[Any], positions: tuple[int, ...], level: int) -> list[Any]:
    """Return the arguments of the batch rule."""
    found: list[Any] = []
    for position, value in enumerate(args):
        if position in positions:
            found += (None, None) if value is None else unwrap_at_level(value, level)
        else:
            found.append(value)
    return found

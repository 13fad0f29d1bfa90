"""Operators that vmap refuses: ``item``, ``allclose``, data-dependent shapes (``BatchRulesDynamic.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.table.operator_entry import OperatorEntry


def unsupported_local_scalar_dense(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some "
        "data-dependent control flow or (3) encountering this error in PyTorch internals. For (1): we don't support "
        "vmap over calling .item() on a Tensor, please try to rewrite what you're doing with other operations. For "
        "(2): we don't support data-dependent control flow in vmap yet, please file an issue at "
        "https://github.com/pytorch/pytorch/issues . For (3): please file an issue."
    )


def unsupported_item(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside "
        "PyTorch internals, please file a bug report."
    )


def unsupported_is_nonzero(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
        "that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
    )


def unsupported_dynamic_op(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{op.name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def unsupported_data(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")


def unsupported_allclose(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    )


BOXED = {
    "allclose": unsupported_allclose,
    "item": unsupported_item,
    "_local_scalar_dense": unsupported_local_scalar_dense,
    "is_nonzero": unsupported_is_nonzero,
    "nonzero": unsupported_dynamic_op,
    "where": unsupported_dynamic_op,
    **dict.fromkeys(("_unique2", "unique_consecutive", "unique_dim", "unique_dim_consecutive"), unsupported_dynamic_op),
}
"""Boxed kernels for FuncTorchBatched."""

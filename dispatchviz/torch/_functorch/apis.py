"""``torch.vmap``, ``torch.func.grad`` (``torch/_functorch/apis.py``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dispatchviz.torch._functorch.eager_transforms import grad_and_value_impl, grad_impl
from dispatchviz.torch._functorch.vmap import vmap_impl


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps ``func`` over one dimension of its arguments.

    ``in_dims``: the mapped dimension per argument (None: not mapped); ``out_dims``: its position in the results.
    ``randomness``: ``error``, ``different`` or ``same``. ``chunk_size``: the number of examples per call. Raise
    RuntimeError or ValueError with PyTorch's message for arguments that do not fit.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)

    return wrapped


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``func``, which must return a 0-dim tensor, by some of its
    arguments.

    ``has_aux``: ``func`` also returns auxiliary data, which is returned with the gradient. Calls can be nested.
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return grad_impl(func, argnums, has_aux, args, kwargs)

    return wrapper


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient and the value of ``func``."""

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return grad_and_value_impl(func, argnums, has_aux, args, kwargs)

    return wrapper

"""``vmap`` around a function (``torch/_functorch/vmap.py``): check, wrap, call, unwrap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.random.generator import default_generators
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.restoring_state import restores_state
from dispatchviz.torch._C._functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
    is_batchedtensor,
)
from dispatchviz.torch._functorch.decompositions import lazy_load_decompositions
from dispatchviz.torch.utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten

Function = Callable[..., Any]


def vmap_impl(
    func: Function, in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, *args: Any, **kwargs: Any
) -> Any:
    """Call a function under vmap. Raise ValueError with PyTorch's message for dims that do not fit."""
    lazy_load_decompositions()
    _check_out_dims_is_int_or_int_pytree(out_dims, func)
    batch_size, flat_in_dims, flat_args, spec = _process_batched_inputs(in_dims, args, func)
    if chunk_size is None:
        return _flat_vmap(func, batch_size, flat_in_dims, flat_args, spec, out_dims, randomness, kwargs)
    chunks = _chunked_inputs(flat_args, flat_in_dims, batch_size, chunk_size)
    return _chunked_vmap(func, flat_in_dims, chunks, spec, out_dims, randomness, kwargs)


@restores_state
def _flat_vmap(
    func: Function,
    batch_size: int,
    flat_in_dims: list[Any],
    flat_args: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    with vmap_increment_nesting(batch_size, randomness) as level:
        batched = [
            arg if dim is None else _add_batch_dim(arg, dim, level)
            for dim, arg in zip(flat_in_dims, flat_args, strict=True)
        ]
        outputs = func(*tree_unflatten(batched, spec), **kwargs)
        return _unwrap_batched(outputs, out_dims, level, batch_size, func)


@contextmanager
def vmap_increment_nesting(batch_size: int, randomness: str) -> Iterator[int]:
    """Open a level of vmap for a block and yield its number."""
    level = _vmap_increment_nesting(batch_size, randomness)
    try:
        yield level
    finally:
        _vmap_decrement_nesting()


# -- inputs ------------------------------------------------------------------------------------------------------------


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Function
) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """Return the batch size, a dim (or None) per leaf, the leaves, and their structure."""
    name = _get_name(func)
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{head}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    flat_args, spec = tree_flatten(args)
    flat_in_dims = _broadcast_to_and_flatten(in_dims, spec)
    if flat_in_dims is None:
        raise ValueError(
            f"{head}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    flat_in_dims = [_checked_dim(head, arg, dim) for arg, dim in zip(flat_args, flat_in_dims, strict=True)]
    return _batch_size(flat_in_dims, flat_args), flat_in_dims, flat_args, spec


def _checked_dim(head: str, arg: Any, dim: Any) -> int | None:
    """Return the dimension counted from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{head}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(arg, Tensor):
        raise ValueError(
            f"{head}Got in_dim={dim} for an input but the input is of type {type(arg)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    rank = len(arg._size)
    if not -rank <= dim < rank:
        raise ValueError(
            f"{head}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
            f"in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


def _batch_size(flat_in_dims: list[Any], flat_args: list[Any]) -> int:
    sizes = [arg._size[dim] for dim, arg in zip(flat_in_dims, flat_args, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


# -- outputs -----------------------------------------------------------------------------------------------------------


def _unwrap_batched(outputs: Any, out_dims: Any, level: int, batch_size: int, func: Function) -> Any:
    """Return the outputs with their batch dimension at ``out_dims``."""
    flat_outputs, spec = tree_flatten(outputs)
    if isinstance(outputs, Tensor):
        alone = isinstance(out_dims, int) or out_dims is None
        single = isinstance(out_dims, tuple) and len(out_dims) == 1
        flat_out_dims = [out_dims] if alone else list(out_dims) if single else None
    else:
        flat_out_dims = _broadcast_to_and_flatten(out_dims, spec)
    if flat_out_dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure "
            f"{spec}."
        )
    pairs = zip(flat_outputs, flat_out_dims, strict=True)
    unwrapped = [_maybe_remove_batch_dim(_get_name(func), out, level, batch_size, dim) for out, dim in pairs]
    return tree_unflatten(unwrapped, spec)


def _maybe_remove_batch_dim(name: str, output: Any, level: int, batch_size: int, out_dim: int | None) -> Any:
    if out_dim is None:
        if isinstance(output, Tensor) and is_batchedtensor(output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output
    if not isinstance(output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    return _remove_batch_dim(output, level, batch_size, out_dim)


def _check_out_dims_is_int_or_int_pytree(out_dims: Any, func: Function) -> None:
    for leaf in [] if isinstance(out_dims, int) else tree_flatten(out_dims)[0]:
        if leaf is not None and not isinstance(leaf, int):
            raise ValueError(
                f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )


def _get_name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return repr(func)


# -- chunks ------------------------------------------------------------------------------------------------------------


def _chunked_inputs(
    flat_args: list[Any], flat_in_dims: list[Any], batch_size: int, chunk_size: int
) -> Iterator[list[Any]]:
    """Yield the arguments of each chunk."""
    full, rest = divmod(batch_size, chunk_size)
    ends = tuple(accumulate([chunk_size] * full + [rest] * (rest > 0)))
    parts = [
        [arg] * len(ends) if dim is None else ops.tensor_split_indices.call(arg, ends, dim)
        for arg, dim in zip(flat_args, flat_in_dims, strict=True)
    ]
    return (list(chunk) for chunk in zip(*parts, strict=False))


def _chunked_vmap(
    func: Function,
    flat_in_dims: list[Any],
    chunks: Iterator[list[Any]],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    """Run chunk by chunk. With the same randomness every chunk starts from the same generator state."""
    generator = default_generators["cpu"]
    state = generator.state_bytes() if randomness == "same" else None
    outputs: list[list[Any]] = []
    output_spec = None
    for flat_args in chunks:
        batch_size = _batch_size(flat_in_dims, flat_args)
        if batch_size == 0:
            continue
        if state is not None:
            generator.restore(state)
        result = _flat_vmap(func, batch_size, flat_in_dims, flat_args, spec, out_dims, randomness, kwargs)
        flat, output_spec = tree_flatten(result)
        outputs.append(flat)
    assert output_spec is not None, "arg_spec must not be None"
    dims = _broadcast_to_and_flatten(out_dims, output_spec)
    assert dims is not None, "flat_out_dims must not be None"
    joined = [ops.cat.call(list(parts), dim) for dim, parts in zip(dims, zip(*outputs, strict=True), strict=True)]
    return tree_unflatten(joined, output_spec)

"""``torch.func.jacrev``, ``jacfwd``, ``hessian`` (``torch/_functorch/eager_transforms.py``): vmap over a basis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._functorch.apis import vmap
from dispatchviz.torch._functorch.argnums import ArgNums, slice_argnums
from dispatchviz.torch._functorch.eager_transforms import vjp_with_argnums
from dispatchviz.torch._functorch.forward_transforms import jvp_with_argnums
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

Function = Callable[..., Any]

# -- by rows -----------------------------------------------------------------------------------------------------------


def jacrev(
    func: Function, argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:  # fmt: skip
    """Return a function that computes the Jacobian by some of the arguments, in reverse mode, all rows at once.

    ``chunk_size``: the number of rows per pass. ``_preallocate_and_copy``: copy chunks into one tensor. ``has_aux``: as
    in ``vjp``. Raise ValueError for a chunk size below 1, RuntimeError for complex tensors.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapper_fn(*args: Any) -> Any:
        _error_if_complex("jacrev", args, is_input=True)
        output, vjp_fn, *aux = vjp_with_argnums(func, *args, argnums=argnums, has_aux=has_aux)
        flat_output, output_spec = tree_flatten(output)
        _error_if_complex("jacrev", flat_output, is_input=False)
        rows = _Rows(vjp_fn, flat_output, output_spec, chunk_size)
        flat_primals, primals_spec = tree_flatten(slice_argnums(args, argnums, as_tuple=True))
        stacked = rows.copied(flat_primals) if _preallocate_and_copy else rows.joined(len(flat_primals))
        blocks = _blocks_of_rows(stacked, rows, flat_primals)
        by_output = tuple(tree_unflatten(list(row), primals_spec) for row in zip(*blocks, strict=True))
        return _finished(by_output, argnums, output_spec, aux)

    return wrapper_fn


class _Rows:
    """The rows of a Jacobian, chunk by chunk."""

    def __init__(self, vjp_fn: Function, outputs: list[Tensor], output_spec: TreeSpec, chunk_size: int | None) -> None:
        self.vjp_fn, self.outputs, self.output_spec, self.chunk_size = vjp_fn, outputs, output_spec, chunk_size
        self.numels = tuple(out.numel() for out in outputs)  # type: ignore[attr-defined]

    def chunks(self) -> Iterator[list[Any]]:
        """Yield for each chunk a tensor of rows per input; a chunk of one is a single row."""
        for chunk in standard_basis(self.outputs, self.numels, self.chunk_size):
            if self.chunk_size == 1:
                one = tree_unflatten([torch.squeeze(tensor, 0) for tensor in chunk], self.output_spec)
                yield tree_leaves(self.vjp_fn(one))
            else:
                yield tree_leaves(vmap(self.vjp_fn)(tree_unflatten(list(chunk), self.output_spec)))

    def _as_rows(self, chunk: list[Any]) -> list[Any]:
        return [torch.unsqueeze(tensor, 0) for tensor in chunk] if self.chunk_size == 1 else chunk

    def joined(self, inputs: int) -> list[Any]:
        """Return all rows per input."""
        found = [self._as_rows(chunk) for chunk in self.chunks()]
        if len(found) == 1:
            return found[0]
        return [torch.cat(tuple(chunk[index] for chunk in found), 0) for index in range(inputs)]

    def copied(self, primals: list[Any]) -> list[Any]:
        """Return all rows per input, copied chunk by chunk into tensors allocated before."""
        total = sum(self.numels)
        if self.chunk_size is None or self.chunk_size >= total:
            return self._as_rows(next(self.chunks()))
        stacked = [primal.new_zeros(total, *primal.shape) for primal in primals]
        for index, chunk in enumerate(self.chunks()):
            for rows, whole in zip(chunk, stacked, strict=True):
                whole[index * self.chunk_size : (index + 1) * self.chunk_size].copy_(rows)
        return stacked


def _blocks_of_rows(stacked: list[Any], rows: _Rows, primals: list[Any]) -> list[tuple[Any, ...]]:
    """Return per input a block for each output."""
    split = [torch.split(result, list(rows.numels), dim=0) for result in stacked]
    return [
        tuple(part.view(out.shape + primal.shape) for part, out in zip(parts, rows.outputs, strict=True))  # type: ignore[attr-defined]
        for parts, primal in zip(split, primals, strict=True)
    ]


# -- by columns --------------------------------------------------------------------------------------------------------


def jacfwd(func: Function, argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """Return a function that computes the Jacobian in forward mode, all columns at once; ``randomness`` as in ``vmap``.

    Raise RuntimeError for complex tensors.
    """

    @functools.wraps(func, updated=())
    def wrapper_fn(*args: Any) -> Any:
        _error_if_complex("jacfwd", args, is_input=True)
        flat_primals, spec = tree_flatten(args if argnums is None else slice_argnums(args, argnums, as_tuple=True))
        numels = tuple(primal.numel() for primal in flat_primals)
        basis = tree_unflatten(list(next(standard_basis(flat_primals, numels))), spec)

        def push_jvp(basis: Any) -> Any:
            output = jvp_with_argnums(func, args, basis, argnums=argnums, has_aux=has_aux)
            _error_if_complex("jacfwd", output[0], is_input=False)
            return output[1:] if has_aux else output[1]

        results = vmap(push_jvp, randomness=randomness)(basis)
        aux = []
        if has_aux:
            results, auxiliary = results
            flat_aux, aux_spec = tree_flatten(auxiliary)
            aux = [tree_unflatten([value[0] for value in flat_aux], aux_spec)]
        columns, output_spec = tree_flatten(results)
        by_output = tuple(tree_unflatten(_blocks_of_columns(each, flat_primals, numels), spec) for each in columns)
        return _finished(by_output, argnums, output_spec, aux)

    return wrapper_fn


def _blocks_of_columns(columns: Any, primals: list[Any], numels: tuple[int, ...]) -> list[Any]:
    parts = torch.split(columns.movedim(0, -1), list(numels), dim=-1)
    return [
        part.unflatten(-1, primal.shape) if primal.shape else part.squeeze(-1)
        for primal, part in zip(primals, parts, strict=True)
    ]


def hessian(func: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that computes the Hessian, forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


# -- shared ------------------------------------------------------------------------------------------------------------


def standard_basis(
    tensors: Sequence[Any], numels: tuple[int, ...], chunk_size: int | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield in chunks the unit vectors of all elements together, split into a part for each tensor."""
    total = sum(numels)
    if not chunk_size or chunk_size >= total:
        chunk_size = total
    counts = [min(chunk_size, total - begin) for begin in range(0, total, chunk_size)] if total else [0]
    before = [-sum(numels[:index]) for index in range(len(numels))]
    for index, count in enumerate(counts):
        chunks = [tensor.new_zeros(count, numel) for tensor, numel in zip(tensors, numels, strict=True)]
        for chunk, start in zip(chunks, before, strict=True):
            chunk.diagonal(start + index * chunk_size).fill_(1)
        yield tuple(chunk.view(count, *tensor.shape) for chunk, tensor in zip(chunks, tensors, strict=True))


def _error_if_complex(name: str, args: Any, is_input: bool) -> None:
    for index, arg in enumerate(tree_leaves(args)):
        if isinstance(arg, Tensor) and arg._dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {'inputs' if is_input else 'outputs'} to be real but received complex tensor at "
                f"flattened input idx: {index}"
            )


def _finished(by_output: tuple[Any, ...], argnums: ArgNums | None, spec: TreeSpec, aux: list[Any]) -> Any:
    """Return the result for the caller. A single argument (an int ``argnums``) is not in a tuple."""
    if isinstance(argnums, int):
        by_output = tuple(inputs[0] for inputs in by_output)
    table = tree_unflatten(list(by_output), spec)
    return (table, aux[0]) if aux else table

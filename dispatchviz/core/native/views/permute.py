"""``permute``, ``movedim`` (``aten/src/ATen/native/TensorShape.cpp``).

Swapping two dimensions is in ``view_ops.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor


def permute(self: Tensor, dims: Size) -> Tensor:
    """The view whose dimension ``i`` is dimension ``dims[i]`` of self."""
    rank = len(self._size)
    if len(dims) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(dim, rank) for dim in dims]
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    size, stride = tuple(self._size[d] for d in order), tuple(self._stride[d] for d in order)
    return ops.as_strided.call(self, size, stride, None)


def movedim_int(self: Tensor, source: int, destination: int) -> Tensor:
    """Move one dimension to another position; the others keep their order."""
    return ops.movedim_intlist.call(self, (source,), (destination,))


def movedim_intlist(self: Tensor, source: Size, destination: Size) -> Tensor:
    """Move several dimensions at once. Raise RuntimeError if one is listed twice."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    rank = len(self._size)
    sources, destinations = [wrap_dim(d, rank) for d in source], [wrap_dim(d, rank) for d in destination]
    _check_unique("source", sources, source)
    _check_unique("destination", destinations, destination)
    if rank == 0:
        return ops.alias.call(self)
    return ops.permute.call(self, movedim_order(rank, sources, destinations))


def movedim_order(rank: int, sources: Sequence[int], destinations: Sequence[int]) -> Size:
    """The order of dimensions after ``movedim``."""
    taken = dict(zip(destinations, sources, strict=True))
    rest = iter([dim for dim in range(rank) if dim not in sources])
    return tuple(taken[index] if index in taken else next(rest) for index in range(rank))


def _check_unique(which: str, wrapped: list[int], given: Size) -> None:
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"movedim: repeated dim in `{which}` ({list(given)})")

"""``tensor_split``, ``hsplit``, ``vsplit``, ``dsplit``, ``unsafe_split``, ``unsafe_chunk``
(``aten/src/ATen/native/TensorShape.cpp``). ``split`` and ``chunk`` are in ``split_flip_repeat.py``."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.shapes.split_flip_repeat import chunk_sizes, split, split_with_sizes
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, VersionCounter

# -- split -------------------------------------------------------------------------------------------------------------


def split_symint(self: Tensor, split_size: Size, dim: int) -> list[Tensor]:
    """Pieces of the given sizes."""
    return ops.split_with_sizes.call(self, split_size, dim)


def unsafe_split(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """``split`` whose pieces have their own version counters and are not views for autograd."""
    return _with_own_version_counters(split(self, split_size, dim))


def unsafe_split_with_sizes(self: Tensor, split_sizes: Size, dim: int) -> list[Tensor]:
    """``split_with_sizes`` whose pieces have their own version counters and are not views for autograd."""
    return _with_own_version_counters(split_with_sizes(self, split_sizes, dim))


def unsafe_chunk(self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """``chunk`` whose pieces have their own version counters and are not views for autograd."""
    split_size = chunk_sizes(self, chunks, dim)
    if isinstance(split_size, tuple):
        return ops.unsafe_split_with_sizes.call(self, split_size, dim)
    return ops.unsafe_split_Tensor.call(self, split_size, dim)


def _with_own_version_counters(pieces: list[Tensor]) -> list[Tensor]:
    for piece in pieces:
        piece._version_counter = VersionCounter()
    return pieces


# -- tensor_split ------------------------------------------------------------------------------------------------------


def tensor_split_sections_symint(self: Tensor, sections: int, dim: int) -> list[Tensor]:
    """``sections`` pieces; the first ones are longer by one if the length is not divisible."""
    if not self._size:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(self._size))
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    least, longer = divmod(self._size[dim], sections)
    start, pieces = 0, []
    for index in range(sections):
        end = start + least + (index < longer)
        pieces.append(ops.slice_Tensor.call(self, dim, start, end, 1))
        start = end
    return pieces


def tensor_split_tensor_indices_or_sections(self: Tensor, tensor_indices_or_sections: Tensor, dim: int) -> list[Tensor]:
    """``tensor_split`` with a tensor: a 0-dim one is the number of pieces, a vector holds the indices to cut before."""
    given = tensor_indices_or_sections
    what = "tensor_split expected tensor_indices_or_sections to"
    if not self._size:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if given._device.type != "cpu":
        raise RuntimeError(f"{what} be on cpu, but it's on {given._device}")
    if given._dtype is not int64:
        raise RuntimeError(f"{what} have dtype of long, but got {given._dtype.legacy}")
    if len(given._size) > 1:
        raise RuntimeError(
            f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {len(given._size)} dims"
        )
    if given._size:
        return ops.tensor_split_indices.call(self, tuple(given._array.tolist()), dim)
    return ops.tensor_split_sections.call(self, int(ops.item.call(given)), dim)  # type: ignore[arg-type]


# -- hsplit, vsplit, dsplit --------------------------------------------------------------------------------------------


def _check_rank(name: str, self: Tensor, least: int) -> None:
    if len(self._size) < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(self._size)} "
            "dimensions!"
        )


def _into_sections(name: str, self: Tensor, least: int, dim: int, sections: int) -> list[Tensor]:
    _check_rank(name, self, least)
    if sections == 0 or self._size[dim] % sections:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {self._size[dim]} "
            f"is not divisible by the split_size {sections}!"
        )
    return ops.tensor_split_sections.call(self, sections, dim)


def _split_at_indices(name: str, self: Tensor, least: int, dim: int, indices: Size) -> list[Tensor]:
    _check_rank(name, self, least)
    return ops.tensor_split_indices.call(self, indices, dim)


def _horizontal(self: Tensor) -> int:
    return 0 if len(self._size) == 1 else 1


def hsplit_int(self: Tensor, sections: int) -> list[Tensor]:
    """Split along the second dimension, or a vector along its only one."""
    return _into_sections("hsplit", self, 1, _horizontal(self), sections)


def hsplit_array(self: Tensor, indices: Size) -> list[Tensor]:
    """Split along the second dimension, or a vector along its only one."""
    return _split_at_indices("hsplit", self, 1, _horizontal(self), indices)


def vsplit_int(self: Tensor, sections: int) -> list[Tensor]:
    """Split along the first dimension."""
    return _into_sections("vsplit", self, 2, 0, sections)


def vsplit_array(self: Tensor, indices: Size) -> list[Tensor]:
    """Split along the first dimension."""
    return _split_at_indices("vsplit", self, 2, 0, indices)


def dsplit_int(self: Tensor, sections: int) -> list[Tensor]:
    """Split along the third dimension."""
    return _into_sections("dsplit", self, 3, 2, sections)


def dsplit_array(self: Tensor, indices: Size) -> list[Tensor]:
    """Split along the third dimension."""
    return _split_at_indices("dsplit", self, 3, 2, indices)

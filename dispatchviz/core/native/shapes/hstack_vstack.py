"""``hstack``, ``vstack``, ``dstack``, ``column_stack``, ``atleast_1d/2d/3d``, ``concat``
(``aten/src/ATen/native/TensorShape.cpp``, ``TensorTransformations.cpp``). They concatenate by ``cat``.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- atleast_1d, atleast_2d, atleast_3d --------------------------------------------------------------------------------


def atleast_1d(self: Tensor) -> Tensor:
    """A view with at least one dimension."""
    return self if self._size else ops.reshape.call(self, (1,))


def atleast_1d_Sequence(tensors: list[Tensor]) -> list[Tensor]:
    """``atleast_1d`` of each tensor."""
    return [atleast_1d(tensor) for tensor in tensors]


def atleast_2d(self: Tensor) -> Tensor:
    """A view with at least two dimensions; a vector becomes a row."""
    if not self._size:
        return ops.reshape.call(self, (1, 1))
    return ops.unsqueeze.call(self, 0) if len(self._size) == 1 else self


def atleast_2d_Sequence(tensors: list[Tensor]) -> list[Tensor]:
    """``atleast_2d`` of each tensor."""
    return [atleast_2d(tensor) for tensor in tensors]


def atleast_3d(self: Tensor) -> Tensor:
    """A view with at least three dimensions; a vector becomes (1, n, 1)."""
    if not self._size:
        return ops.reshape.call(self, (1, 1, 1))
    if len(self._size) == 1:
        return ops.unsqueeze.call(ops.unsqueeze.call(self, 0), -1)
    return ops.unsqueeze.call(self, -1) if len(self._size) == 2 else self


def atleast_3d_Sequence(tensors: list[Tensor]) -> list[Tensor]:
    """``atleast_3d`` of each tensor."""
    return [atleast_3d(tensor) for tensor in tensors]


# -- hstack, vstack, dstack, column_stack ------------------------------------------------------------------------------


def hstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate along the second dimension, or vectors along the first."""
    parts, dim = _side_by_side(tensors)
    return ops.cat.call(parts, dim)


def hstack_out(tensors: list[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``hstack``."""
    parts, dim = _side_by_side(tensors)
    return ops.cat_out.call(parts, dim, out)


def _side_by_side(tensors: list[Tensor]) -> tuple[list[Tensor], int]:
    _check("hstack", tensors)
    parts = ops.atleast_1d_Sequence.call(tensors)
    return parts, 0 if len(parts[0]._size) == 1 else 1


def vstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate along the first dimension, with vectors as rows."""
    _check("vstack", tensors)
    return ops.cat.call(ops.atleast_2d_Sequence.call(tensors), 0)


def vstack_out(tensors: list[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``vstack``."""
    _check("vstack", tensors)
    return ops.cat_out.call(ops.atleast_2d_Sequence.call(tensors), 0, out)


def row_stack(tensors: list[Tensor]) -> Tensor:
    """An alias of ``vstack``."""
    return ops.vstack.call(tensors)


def row_stack_out(tensors: list[Tensor], out: Tensor) -> Tensor:
    """An alias of ``vstack`` with ``out``."""
    return ops.vstack_out.call(tensors, out)


def dstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate along the third dimension."""
    _check("dstack", tensors)
    return ops.cat.call(ops.atleast_3d_Sequence.call(tensors), 2)


def dstack_out(tensors: list[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``dstack``."""
    _check("dstack", tensors)
    return ops.cat_out.call(ops.atleast_3d_Sequence.call(tensors), 2, out)


def column_stack(tensors: list[Tensor]) -> Tensor:
    """Concatenate along the second dimension, with vectors as columns."""
    return ops.hstack.call(_as_columns(tensors))


def column_stack_out(tensors: list[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``column_stack``."""
    return ops.hstack_out.call(_as_columns(tensors), out)


def _as_columns(tensors: list[Tensor]) -> list[Tensor]:
    _check("column_stack", tensors)
    return [ops.reshape.call(t, (numel(t._size), 1)) if len(t._size) < 2 else t for t in tensors]


def _check(name: str, tensors: list[Tensor]) -> None:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


# -- aliases of cat ----------------------------------------------------------------------------------------------------


def concat(tensors: list[Tensor], dim: int) -> Tensor:
    """An alias of ``cat``."""
    return ops.cat.call(tensors, dim)


def concat_out(tensors: list[Tensor], dim: int, out: Tensor) -> Tensor:
    """An alias of ``cat`` with ``out``."""
    return ops.cat_out.call(tensors, dim, out)


def concatenate(tensors: list[Tensor], dim: int) -> Tensor:
    """An alias of ``cat``."""
    return ops.cat.call(tensors, dim)


def concatenate_out(tensors: list[Tensor], dim: int, out: Tensor) -> Tensor:
    """An alias of ``cat`` with ``out``."""
    return ops.cat_out.call(tensors, dim, out)

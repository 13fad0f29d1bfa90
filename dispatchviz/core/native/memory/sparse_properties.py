"""``sparse_dim``, ``dense_dim``, ``coalesce``, ``indices``, ``values``, ``to_dense`` of strided tensors
(``aten/src/ATen/native/sparse/SparseTensor.cpp``, ``SparseCsrTensor.cpp``,
``aten/src/ATen/native/TensorConversions.cpp``).

NB: there are no sparse tensors here, so these kernels cover dense tensors only.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor

_COORDINATES = "sparse coordinate tensor layout"


def _refused(name: str, expected: str) -> RuntimeError:
    return RuntimeError(f"{name} expected {expected} but got Strided")


def to_dense(self: Tensor, dtype: DType | None, masked_grad: bool | None) -> Tensor:
    """self, converted to ``dtype`` if one is given."""
    return self if dtype is None else ops.to_dtype.call(self, dtype, False, False, None)


def sparse_dim_default(self: Tensor) -> int:
    """Return 0: a strided tensor has no sparse dimensions."""
    return 0


def dense_dim_default(self: Tensor) -> int:
    """The number of dimensions: all are dense."""
    return len(self._size)


def coalesce(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("coalesce", _COORDINATES)


def is_coalesced_default(self: Tensor) -> bool:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("is_coalesced", _COORDINATES)


def indices_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("indices", _COORDINATES)


def values_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("values", "sparse tensor layout")


def crow_indices_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("crow_indices", "sparse row compressed tensor layout")


def ccol_indices_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("ccol_indices", "sparse column compressed tensor layout")


def col_indices_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("col_indices", "sparse row compressed tensor layout")


def row_indices_default(self: Tensor) -> Tensor:
    """Raise RuntimeError: the tensor is not sparse."""
    raise _refused("row_indices", "sparse column compressed tensor layout")

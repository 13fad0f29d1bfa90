"""Mixed data types: half-precision inputs with float32 parameters on the CPU
(``aten/src/ATen/native/cpu/mixed_data_type.h``)."""

from __future__ import annotations

from dispatchviz.core.tensor.dtype import REDUCED, DType, float32
from dispatchviz.core.tensor.tensor import Tensor


def is_mixed_type(input: Tensor, *parameters: Tensor | None) -> bool:
    """Return whether the first given parameter has another dtype than the input."""
    first = next((parameter for parameter in parameters if parameter is not None), None)
    return first is not None and first._dtype is not input._dtype


def check_mixed_data_type(input: Tensor, *parameters: Tensor | None) -> None:
    """Raise RuntimeError unless the parameters are float32 and the input is half or bfloat16."""
    if any(parameter is not None and parameter._dtype is not float32 for parameter in parameters):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input._dtype not in REDUCED:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def param_scalar_type(input: Tensor, *parameters: Tensor | None) -> DType:
    """The dtype of saved statistics: float32 for mixed inputs.

    Raise RuntimeError for dtypes that do not fit together.
    """
    if not is_mixed_type(input, *parameters):
        return input._dtype
    check_mixed_data_type(input, *parameters)
    return float32


def check_accessible(tensors: tuple[Tensor | None, ...], dtype: DType, rank: int | None = None) -> None:
    """Raise RuntimeError for a tensor of another rank or dtype (``accessor``, ``data_ptr``)."""
    for tensor in tensors:
        if tensor is None:
            continue
        if rank is not None and len(tensor._size) != rank:
            raise RuntimeError(f"TensorAccessor expected {rank} dims but tensor has {len(tensor._size)}")
        if tensor._dtype is not dtype:
            raise RuntimeError(f"expected scalar type {dtype.legacy} but found {tensor._dtype.legacy}")

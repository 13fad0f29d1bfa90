"""``torch.functional``: functions of ``torch`` that are written in Python around operators
(``torch/functional.py``).
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

from dispatchviz.core.generated import nn_functions, python_bindings
from dispatchviz.core.tensor.dtype import Category, int64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function
from dispatchviz.torch.size import Size
from dispatchviz.torch.tensor_new import tensor

__all__ = [
    "broadcast_shapes",
    "broadcast_tensors",
    "cdist",
    "chain_matmul",
    "einsum",
    "get_device",
    "is_complex",
    "is_floating_point",
    "is_inference",
    "is_signed",
    "lu",
    "norm",
    "stft",
    "tensordot",
    "unravel_index",
]


def broadcast_tensors(*tensors: Any) -> Any:
    """Expand all tensors to their common shape. Raise RuntimeError if there is none."""
    return python_bindings.broadcast_tensors(tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the common shape; a number is a shape with one dimension. Raise RuntimeError if there is none."""
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    common = [1] * max(map(len, sizes), default=0)
    for position, size in enumerate(sizes):
        for i in range(-1, -1 - len(size), -1):
            if size[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if size[i] not in (1, common[i]) and common[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size[i]} at {i}! Mismatching argument at index "
                    f"{position} had {size}; but expected shape should be broadcastable to {common}"
                )
            common[i] = common[i] if size[i] == 1 else size[i]
    return Size(common)


def einsum(*args: Any) -> Any:
    """Multiply elements of all operands and sum over the letters that the right side of the equation lacks.

    Called with an equation and operands, or with operands that are each followed by a list of dimension numbers. Raise
    ValueError for fewer than two arguments and for numbers outside 0..51, RuntimeError for a wrong equation.
    """
    if len(args) < 2:
        raise _too_few()
    equation, operands = (
        (_equation(args), args[: len(args) // 2 * 2 : 2]) if isinstance(args[0], Tensor) else _split(args)
    )
    if has_torch_function(operands):
        return handle_torch_function(einsum, operands, equation, *operands)
    return python_bindings.einsum(equation, operands)


def _too_few() -> ValueError:
    return ValueError(
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
        "subscripts list"
    )


def _split(args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return the equation and the operands, which may be passed as one list."""
    equation, *operands = args
    while len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not operands:
        raise _too_few()
    return equation, tuple(operands)


def _equation(args: tuple[Any, ...]) -> str:
    """Return the equation for operands and subscript lists, with or without the result's list at the end."""
    inputs = ",".join("".join(map(_subscript, labels)) for labels in args[1::2])
    return inputs + "->" + "".join(map(_subscript, args[-1])) if len(args) % 2 else inputs


def _subscript(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    if 0 <= number < len(string.ascii_letters):
        return (string.ascii_uppercase + string.ascii_lowercase)[number]
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}
"""The compute modes of ``cdist`` and the numbers that its operator takes."""


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """Return the distances between rows. Raise ValueError for an unknown compute mode."""
    if has_torch_function((x1, x2)):
        return handle_torch_function(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return python_bindings.cdist(x1, x2, p, _COMPUTE_MODES[compute_mode])


def is_floating_point(input: Any) -> bool:
    """Return whether the dtype is a floating-point dtype. Raise TypeError for anything but a tensor."""
    check_input("is_floating_point", input)
    return bool(input._dtype.is_floating_point)


def is_complex(input: Any) -> bool:
    """Return whether the dtype is complex. Raise TypeError for anything but a tensor."""
    check_input("is_complex", input)
    return bool(input._dtype.is_complex)


def check_input(name: str, input: Any) -> None:
    """Raise TypeError for anything but a tensor."""
    if not isinstance(input, Tensor):
        found = type(input).__name__
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {found}")


def is_signed(input: Any) -> bool:
    """Return whether the dtype has negative numbers."""
    return bool(input.is_signed())


def is_inference(input: Any) -> bool:
    """Return whether the tensor was made in inference mode."""
    return bool(input.is_inference())


def get_device(input: Any) -> int:
    """Return the number of the tensor's device, or -1 for the CPU."""
    return int(input.get_device())


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """Return the p-norm along dimensions, by default of all elements; ``p="nuc"`` is the nuclear norm of a matrix."""
    dims = [dim] if isinstance(dim, int) else dim
    options = {} if out is None else {"out": out}
    if isinstance(p, str) and (p != "fro" or (dims is not None and len(dims) > 2)):
        dims = list(range(input.ndim)) if dims is None else dims
        return torch._C._linalg.linalg_matrix_norm(input, p, dims, keepdim, dtype=dtype, **options)
    order = 2 if p == "fro" else 2.0 if p is None else p
    return torch._C._linalg.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype, **options)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of matrices, which are separate arguments; ``linalg.multi_dot`` takes a list."""
    options = {} if out is None else {"out": out}
    return python_bindings.chain_matmul(matrices, **options)


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return both factors in one matrix, the pivots, and ``info`` if requested. Raise TypeError for a wrong number of
    outputs.
    """
    if has_torch_function((A,)):
        return handle_torch_function(lu, (A,), A, pivot=pivot, get_infos=get_infos, out=out)
    result = python_bindings._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    if out is None:
        return result if get_infos else result[:2]
    _check_list_size(len(out), get_infos, out)
    for written, part in zip(out, result, strict=False):
        written.resize_as_(part).copy_(part)
    return out


def _check_list_size(length: int, get_infos: bool, out: Any) -> None:
    if length != 2 + get_infos:
        raise TypeError(f"expected tuple of {2 + get_infos} elements but got {length}")
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Sum products along the last dimensions of a and the first of b, or along pairs. Raise RuntimeError for dimensions
    that do not match.
    """
    dims_a, dims_b = _contracted(a, b, dims)
    options = {} if out is None else {"out": out}
    return python_bindings.tensordot(a, b, dims_a, dims_b, **options)


def _listed(dims: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions that a tensor names: one row for each operand, or their number."""
    if dims.numel() <= 1:
        return _last_and_first(int(dims.item()))
    if dims.size()[0] != 2:
        raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.size()[0]}")
    return dims[0].tolist(), dims[1].tolist()


def _contracted(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
        return dims_a, dims_b
    if isinstance(dims, Tensor):
        return _listed(dims)
    if not isinstance(dims, int):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    if dims > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return _last_and_first(dims)


def _last_and_first(dims: int) -> tuple[list[int], list[int]]:
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Return the coordinates of flat indices, one tensor per dimension. Raise TypeError or ValueError for a wrong
    shape.
    """
    if has_torch_function((indices,)):
        return tuple(handle_torch_function(unravel_index, (indices,), indices, shape=shape))
    sizes = _checked_shape(indices, shape)
    steps = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    options = {"device": indices.device, "dtype": int64}
    coordinates = indices.unsqueeze(-1).floor_divide(tensor(steps, **options)) % tensor(list(sizes), **options)
    return tuple(coordinates.unbind(-1))


def _checked_shape(indices: Any, shape: Any) -> Size:
    if indices._dtype.category is not Category.INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if 0 in sizes and indices.numel():
        raise ValueError(f"'shape' cannot have zero dimensions when 'indices' is non-empty, but got {sizes}")
    return Size(sizes)


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Return the spectra of windows of a signal, which ``center`` pads by half a window at both ends.

    Raise RuntimeError for arguments that do not fit.
    """
    if has_torch_function((input,)):
        options = {
            "hop_length": hop_length,
            "win_length": win_length,
            "window": window,
            "center": center,
            "pad_mode": pad_mode,
            "normalized": normalized,
            "onesided": onesided,
            "return_complex": return_complex,
            "align_to_window": align_to_window,
        }
        return handle_torch_function(stft, (input,), input, n_fft, **options)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        rank, half = input.dim(), n_fft // 2
        input = nn_functions.pad(input.view((*(1,) * (3 - rank), *input.size())), (half, half), pad_mode)
        input = input.view(input.shape[-rank:])
    settings = hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    return python_bindings.stft(input, n_fft, *settings)

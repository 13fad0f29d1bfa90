"""``linspace``, ``logspace``, ``eye`` (``aten/src/ATen/native/RangeFactories.cpp``, ``TensorFactories.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.fma import fma
from dispatchviz.core.native.iterator.scalar import Scalar, convert, element
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.tensor.dtype import REDUCED, DType, bool_, default_complex_dtype, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- linspace, logspace ------------------------------------------------------------------------------------------------


def linspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included. Raise RuntimeError for negative ``steps``."""
    _check_steps(steps)
    dtype = _dtype("linspace", dtype, start, end)
    result = ops.empty_memory_format.call((steps,), dtype, layout, device, pin_memory, None)
    return ops.linspace_out.call(start, end, steps, result)


def linspace_out(start: Scalar, end: Scalar, steps: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linspace``; ``out`` is resized."""
    if not _prepared(out, steps):
        return out
    if steps == 1:
        return ops.fill__Scalar.call(out, start)
    if out._dtype is bool_:
        raise not_implemented("linspace_cpu", bool_)
    return _stored(out, _line(start, end, steps, out._dtype))


def logspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    base: float,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """base to the power of evenly spaced numbers. Raise RuntimeError for negative ``steps``."""
    _check_steps(steps)
    dtype = _dtype("logspace", dtype, start, end)
    result = ops.empty_memory_format.call((steps,), dtype, layout, device, pin_memory, None)
    return ops.logspace_out.call(start, end, steps, base, result)


def logspace_out(start: Scalar, end: Scalar, steps: int, base: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logspace``; ``out`` is resized."""
    if not _prepared(out, steps):
        return out
    if steps == 1:
        return ops.fill__Scalar.call(out, base**start.real if out._dtype.can_require_grad else int(base**start.real))
    if out._dtype is bool_:
        raise not_implemented("logspace_cpu", bool_)
    if not out._dtype.can_require_grad:  # the ends are truncated to integers, the steps are not
        start, end = convert(start, out._dtype), convert(end, out._dtype)
    line = _exponents(start, end, steps, out._dtype)
    return _stored(out, quiet.run(numpy.power, numpy.asarray(base, line.dtype), line))


def _check_steps(steps: int) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def _dtype(name: str, dtype: DType | None, start: Scalar, end: Scalar) -> DType | None:
    """The requested dtype, or a complex one if an end is complex.

    Raise RuntimeError if a real one was requested for complex ends.
    """
    if not (isinstance(start, complex) or isinstance(end, complex)):
        return dtype
    inferred = default_complex_dtype()
    if dtype is not None and not dtype.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {type_meta_name(inferred)} can't be safely cast to passed dtype "
            f"{dtype.legacy}"
        )
    return dtype or inferred


def _prepared(out: Tensor, steps: int) -> bool:
    """Resize ``out``. Return whether there is something to write."""
    _check_steps(steps)
    if numel(out._size) != steps:
        ops.resize_.call(out, (steps,), None)
    return steps > 0 and out._device.type != "meta"


def _line(start: Scalar, end: Scalar, steps: int, dtype: DType) -> Any:
    """The numbers of ``linspace``. The first half is computed from the start, the second from the end.

    Integers are spaced in float64, between ends that are truncated to integers. Half and bfloat16 are rounded at every
    step.
    """
    if dtype.is_complex:
        return numpy.linspace(start, end, steps, dtype=dtype.numpy)
    kind: Any = dtype.numpy.type if dtype.can_require_grad else numpy.float64
    first, last = kind(convert(start, dtype)), kind(convert(end, dtype))
    step = (last - first) / kind(steps - 1)
    up, down = numpy.arange(steps).astype(kind), numpy.arange(steps - 1, -1, -1).astype(kind)
    if dtype in REDUCED:
        rising, falling = up * step + first, last - down * step
    else:
        rising, falling = fma(up, step, first), fma(down, -step, last)
    return numpy.where(numpy.arange(steps) < steps // 2, rising, falling)


def _exponents(start: Scalar, end: Scalar, steps: int, dtype: DType) -> Any:
    """The exponents of ``logspace``. For half and bfloat16, only the ends and their difference are rounded."""
    if dtype not in REDUCED:
        return _line(start, end, steps, dtype)
    ends = numpy.array([element(start, dtype), element(end, dtype)])
    step = numpy.float32(ends[1] - ends[0]) / numpy.float32(steps - 1)
    up, down = numpy.arange(steps, dtype=numpy.float32), numpy.arange(steps - 1, -1, -1, dtype=numpy.float32)
    first, last = ends.astype(numpy.float32)
    return numpy.where(numpy.arange(steps) < steps // 2, first + up * step, last - down * step)


def _stored(out: Tensor, numbers: Any) -> Tensor:
    store(out, array_module(out._device.type).asarray(numbers).reshape(out._size))
    return out


# -- eye ---------------------------------------------------------------------------------------------------------------


def eye(n: int, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None) -> Tensor:
    """A square matrix with ones on the diagonal."""
    return ops.eye_m.call(n, n, dtype, layout, device, pin_memory)


def eye_m(
    n: int, m: int, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """A matrix with ones on the diagonal."""
    result = ops.empty_memory_format.call((0,), dtype, layout, device, pin_memory, None)
    return ops.eye_m_out.call(n, m, result)


def eye_out(n: int, out: Tensor) -> Tensor:
    """Write a square matrix with ones on the diagonal into ``out``."""
    return eye_out_m_out(n, n, out)


def eye_out_m_out(n: int, m: int, out: Tensor) -> Tensor:
    """Write a matrix with ones on the diagonal into ``out``. Raise RuntimeError for a negative size."""
    for name, length in (("n", n), ("m", m)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    ops.resize_.call(out, (n, m), None)
    ops.zero_.call(out)
    if out._device.type == "cuda":  # cuda/TensorFactories.cu
        diagonal = ops.as_strided.call(out, (min(n, m),), (sum(out._stride),), None)
        ops.fill__Scalar.call(diagonal, 1)
    elif out._array is not None:
        indices = array_module(out._device.type).arange(min(n, m))
        out._array[indices, indices] = 1
    return out

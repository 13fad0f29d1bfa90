"""``torch.finfo`` and ``torch.iinfo`` (``torch/csrc/TypeInfo.cpp``): the numerical limits of dtypes."""

from __future__ import annotations

import numpy

from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.dtype import DType, limits_of

_PARTS = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_RESOLUTION = {dtypes.float16: 1e-3, dtypes.bfloat16: 1e-2, dtypes.float32: 1e-6, dtypes.float64: 1e-15}


class finfo:
    """The limits of a floating dtype, or of the parts of a complex one. Raise TypeError for other dtypes."""

    def __init__(self, type: DType | None = None) -> None:
        given = dtypes.default_dtype() if type is None else _checked("finfo", type)
        self._dtype = _PARTS.get(given, given)
        if not self._dtype.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = limits_of(self._dtype.numpy)
        self.bits = self._dtype.itemsize * 8
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = _RESOLUTION[self._dtype]
        self.dtype = self._dtype.name

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({numbers}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other._dtype is self._dtype

    def __hash__(self) -> int:
        return hash(self._dtype)


class iinfo:
    """The limits of an integral dtype. Raise TypeError for other dtypes."""

    def __init__(self, type: DType) -> None:
        self._dtype = _checked("iinfo", type)
        if self._dtype.can_require_grad:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if self._dtype is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = numpy.iinfo(self._dtype.numpy)
        self.bits, self.min, self.max, self.dtype = limits.bits, int(limits.min), int(limits.max), self._dtype.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other._dtype is self._dtype

    def __hash__(self) -> int:
        return hash(self._dtype)


def _checked(name: str, value: object) -> DType:
    if not isinstance(value, DType):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(value).__name__}")
    return value

"""Dtypes, and PyTorch's type promotion (``c10/core/ScalarType.h``, ``aten/src/ATen/native/TypeProperties.cpp``).

PyTorch's promotion is not NumPy's. Dimension matters: a 0-dim tensor or a Python number only counts if its category is
higher. The result of two dtypes comes from PyTorch's own lattice.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy

from dispatchviz.core.device.declared_in_c import DeclaredInC


class Category(enum.IntEnum):
    """Kinds of numbers, lowest first. A higher one wins over any dimension."""

    BOOL = 0
    INTEGRAL = 1
    FLOATING = 2
    COMPLEX = 3


@dataclass(frozen=True, eq=False, slots=True)
class DType(metaclass=DeclaredInC, name="torch.dtype"):
    """One dtype. ``str()`` is PyTorch's name (``torch.float32``)."""

    name: str
    numpy: Any
    """The NumPy dtype. CuPy uses the same objects."""
    category: Category
    legacy: str
    """The word in old type strings: ``Float`` in ``torch.FloatTensor``."""
    itemsize: int
    can_require_grad: bool
    """True for floating and complex dtypes."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Import the NumPy dtype of bfloat16 when a program first needs it: that takes up to a second."""
            if name != "numpy":
                raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")
            import ml_dtypes

            object.__setattr__(self, name, numpy.dtype(getattr(ml_dtypes, self.name)))
            return self.numpy

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    @property
    def is_floating_point(self) -> bool:
        """True for a real floating dtype."""
        return self.category is Category.FLOATING

    @property
    def is_complex(self) -> bool:
        """True for a complex dtype."""
        return self.category is Category.COMPLEX

    @property
    def is_signed(self) -> bool:
        """True if its numbers may be negative."""
        return self.name not in ("bool", "uint8")

    def to_real(self) -> DType:
        """The dtype of the real part (``real_type``)."""
        return real_type(self)

    def to_complex(self) -> DType:
        """The complex dtype whose parts have this dtype (``toComplexType``). Raise RuntimeError if there is none.

        NB: there is no complex32 and no bcomplex32, those of half precision.
        """
        if self not in _COMPLEX_OF or self in REDUCED:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return _COMPLEX_OF[self]


def _dtype(name: str, category: Category, legacy: str) -> DType:
    plain = numpy.dtype(name)
    return DType(name, plain, category, legacy, plain.itemsize, category >= Category.FLOATING)


bool_ = _dtype("bool", Category.BOOL, "Bool")
uint8 = _dtype("uint8", Category.INTEGRAL, "Byte")
int8 = _dtype("int8", Category.INTEGRAL, "Char")
int16 = _dtype("int16", Category.INTEGRAL, "Short")
int32 = _dtype("int32", Category.INTEGRAL, "Int")
int64 = _dtype("int64", Category.INTEGRAL, "Long")
float16 = _dtype("float16", Category.FLOATING, "Half")
float32 = _dtype("float32", Category.FLOATING, "Float")
float64 = _dtype("float64", Category.FLOATING, "Double")
complex64 = _dtype("complex64", Category.COMPLEX, "ComplexFloat")
complex128 = _dtype("complex128", Category.COMPLEX, "ComplexDouble")
bfloat16 = DType("bfloat16", None, Category.FLOATING, "BFloat16", 2, True)
object.__delattr__(bfloat16, "numpy")  # NumPy has none: see DType.__getattr__

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128, bfloat16)
"""All dtypes, in the order of ``ScalarType``."""
REDUCED = frozenset((float16, bfloat16))
"""Floating dtypes that CPU kernels compute in float32, rounding once at the end (``isReducedFloatingType``)."""
BY_NUMPY = {dtype.numpy: dtype for dtype in ALL if dtype is not bfloat16}
"""The dtypes of NumPy's own arrays; PyTorch takes no array of bfloat16."""

_default = float32


def default_dtype() -> DType:
    """The dtype of new floating tensors and of Python floats (``c10::get_default_dtype``)."""
    return _default


def set_default_dtype(dtype: object) -> None:
    """Set the default dtype. Raise TypeError unless it is a floating dtype.

    NB: in PyTorch, float16 makes complex32 the dtype of Python's complex numbers, and bfloat16 makes it bcomplex32.
    Here both are refused.
    """
    global _default
    if not isinstance(dtype, DType):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = dtype
    result_type_of.cache_clear()


_ROW = {dtype: row for row, dtype in enumerate((uint8, int8, int16, int32, int64))}
_INTEGRAL = (
    (uint8, int16, int16, int32, int64),
    (int16, int8, int16, int32, int64),
    (int16, int16, int16, int32, int64),
    (int32, int32, int32, int32, int64),
    (int64, int64, int64, int64, int64),
)
_FLOATING_ORDER = (float16, bfloat16, float32, float64)
_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_COMPLEX_OF |= {complex64: complex64, complex128: complex128}


@cache
def promote_types(a: DType, b: DType) -> DType:
    """The dtype of two equally important operands (``torch.promote_types``)."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda dtype: dtype.category)
    if low.category < high.category and high.category is not Category.COMPLEX:
        return high
    match high.category:
        case Category.INTEGRAL:
            return _INTEGRAL[_ROW[low]][_ROW[high]]
        case Category.FLOATING:
            return float32 if {a, b} == REDUCED else max(low, high, key=_FLOATING_ORDER.index)
        case _:
            widest = complex128 if float64 in (a, b) or complex128 in (a, b) else complex64
            return widest if low.category >= Category.FLOATING else high


@cache
def result_type_of(operands: tuple[tuple[DType, int], ...]) -> DType:
    """The dtype of an operation (``torch.result_type``).

    ``operands`` are pairs of dtype and rank. Rank 2 is a tensor with dimensions, 1 a 0-dim tensor, 0 a wrapped number.
    A lower rank counts only if its category is higher than that of all higher ranks.
    """
    result: DType | None = None
    for rank in (2, 1, 0):
        combined: DType | None = None
        for dtype, its_rank in operands:
            if its_rank == rank:
                dtype = default_of_number(dtype) if rank == 0 else dtype
                combined = dtype if combined is None else promote_types(combined, dtype)
        if combined is not None and (result is None or combined.category > result.category):
            result = _combined(result, combined)
    assert result is not None
    return result


def default_complex_dtype() -> DType:
    """The dtype of Python's complex numbers. Raise RuntimeError if the default dtype has no complex partner."""
    if _default in REDUCED:
        raise RuntimeError("invalid default scalar type for complex")
    return _COMPLEX_OF[_default]


def default_of_number(dtype: DType) -> DType:
    """The dtype that a Python number counts as: the default dtype for a float, its complex partner for a complex."""
    if dtype is float64:
        return _default
    return default_complex_dtype() if dtype is complex128 else dtype


def _combined(higher: DType | None, lower: DType) -> DType:
    """The dtype if a lower rank of a higher category wins. A complex one keeps the precision of a floating tensor."""
    if higher is not None and lower.is_complex and higher.is_floating_point:
        return _COMPLEX_OF[higher]
    return lower


def real_type(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype; other dtypes are returned unchanged (``toRealValueType``)."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def of_scalar(value: bool | int | float | complex) -> DType:
    """The dtype of a Python number as a 0-dim tensor: bool, int64, float64 or complex128."""
    return _OF_SCALAR[type(value)]


_OF_SCALAR: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def can_cast(source: DType, target: DType) -> bool:
    """Return whether a result may be written into a tensor of another dtype (``torch.can_cast``)."""
    return source.category <= target.category


# -- names in error messages -------------------------------------------------------------------------------------------

_C_NAMES = {
    "bool": "bool",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
"""C++ names of dtypes, as error messages show them."""

_TYPE_META_NAMES = _C_NAMES | {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int64": "long int",
}
"""The names that ``caffe2::TypeMeta`` prints."""


def c_name(dtype: DType) -> str:
    """The C++ type of a dtype's numbers, ``int64_t``."""
    return _C_NAMES[dtype.name]


def type_meta_name(dtype: DType) -> str:
    """The name by which checks outside TensorIterator name a dtype: ``long int`` for int64."""
    return _TYPE_META_NAMES[dtype.name]


def limits_of(kind: Any) -> Any:
    """The limits of a floating NumPy dtype: ``eps``, ``max``, ``min``, ``tiny``."""
    if kind.kind in "fc":
        return numpy.finfo(kind)
    import ml_dtypes

    return ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]

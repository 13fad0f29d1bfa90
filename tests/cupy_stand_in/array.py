"""``cupy.ndarray``: its attributes, and ``get`` as the only way into NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy

from tests.cupy_stand_in.recorded import RECORDED, check_call
from tests.cupy_stand_in.sorting import check_sorting

ATTRIBUTES: dict[str, list[str] | None] = RECORDED["array"]
GEOMETRY = ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes")
VIEWS = ("T", "mT")


class Memory(NamedTuple):
    """``cupy.cuda.MemoryPointer``: bytes and an offset in them, which is 0 if there are no bytes."""

    bytes: Any
    offset: int

    @property
    def ptr(self) -> int:
        """The address."""
        return int(self.bytes.ctypes.data) + self.offset

    def __add__(self, step: Any) -> Memory:
        assert self.bytes.size or step == 0
        return Memory(self.bytes, self.offset + step)


class Flags(NamedTuple):
    """CuPy's flags of an array's memory."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool


class ndarray:
    """An array that host code cannot read."""

    __slots__ = ("numbers",)
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    numbers: numpy.ndarray[Any, Any]

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Memory | None = None, strides: Any = None, order: Any = "C"
    ) -> None:
        if memptr is None:
            self.numbers = numpy.empty(inside(shape), dtype, order)
        else:
            self.numbers = numpy.ndarray(shape, dtype, memptr.bytes, 0 if 0 in shape else memptr.offset, strides)

    @classmethod
    def of(cls, numbers: Any) -> ndarray:
        """Return an array with these numbers. Raise TypeError for a dtype that a GPU does not have."""
        array = cls.__new__(cls)
        array.numbers = numpy.asarray(numbers)
        if array.dtype.kind not in "biufcV" or array.dtype.char in "gG":
            raise TypeError(f"Unsupported dtype {array.dtype}")
        return array

    def __getattr__(self, name: str) -> Any:
        if name not in ATTRIBUTES:
            raise AttributeError(f"'ndarray' object of CuPy has no attribute {name!r}")
        if name in GEOMETRY:
            return getattr(self.numbers, name)
        if name in VIEWS:
            return ndarray.of(getattr(self.numbers, name))
        return partial(self._method, name)

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        check_call(f"ndarray.{name}", ATTRIBUTES[name], args, kwargs)
        check_sorting(name, self.numbers, kwargs, method=True)
        return outside(getattr(self.numbers, name)(*inside(args), **inside(kwargs)))

    @property
    def real(self) -> ndarray:
        """A view of the real parts."""
        return ndarray.of(self.numbers.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """A view of the imaginary parts."""
        return ndarray.of(self.numbers.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Return a copy in host memory."""
        return self.numbers.copy(order)  # type: ignore[call-overload]

    def item(self) -> Any:
        """Return the only number. There is no index parameter."""
        return self.numbers.item()

    def tolist(self) -> Any:
        """Return Python numbers."""
        return self.numbers.tolist()

    @property
    def data(self) -> Memory:
        """The beginning of the memory."""
        owner = self.numbers
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        memory = owner.reshape(-1, order="A").view(numpy.uint8)
        assert owner.size == 0 or numpy.shares_memory(memory, owner)
        return Memory(memory, self.numbers.ctypes.data - owner.ctypes.data if owner.size else 0)

    @property
    def base(self) -> ndarray | None:
        """The array that owns the memory."""
        return None if self.numbers.base is None else ndarray.of(self.numbers.base)

    @property
    def flags(self) -> Flags:
        """The flags, without NumPy's ``writable``."""
        flags = self.numbers.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, flags.owndata)

    def key(self, key: Any) -> Any:
        """Return an index for NumPy. A slice takes numbers, not arrays; NumPy arrays are treated as in CuPy."""
        parts = [
            part.numbers if isinstance(part, ndarray) else numpy.asarray(part) if isinstance(part, list) else part
            for part in (key if isinstance(key, tuple) else (key,))
        ]
        for each in (limit for part in parts if isinstance(part, slice) for limit in (part.start, part.stop)):
            if isinstance(each, ndarray):
                raise TypeError("slice indices must be integers or None or have an __index__ method")
        return tuple(parts)

    def __getitem__(self, key: Any) -> ndarray:
        key = self.key(key)
        if not any(part is Ellipsis or isinstance(part, numpy.ndarray) for part in key):
            key = (*key, Ellipsis)  # a number is a view, not a copy
        return ndarray.of(_at(self.numbers, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        key = self.key(key)
        advanced = any(isinstance(part, numpy.ndarray) for part in key)
        if not isinstance(value, ndarray) and not advanced and numpy.size(value) != 1:
            raise TypeError(f"Unsupported type {type(value)}: a part of an array is filled with one number")
        _at(self.numbers, key)
        self.numbers[key] = value.numbers if isinstance(value, ndarray) else value

    def __iter__(self) -> Iterator[ndarray]:
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        return len(self.numbers)

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __int__(self) -> int:
        return int(self.numbers)

    def __float__(self) -> float:
        return float(self.numbers)

    def __complex__(self) -> complex:
        return complex(self.numbers)

    def __repr__(self) -> str:
        return f"cupy {self.numbers!r}"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        found = _named("numpy", {"true_divide": "divide"}.get(ufunc.__name__, ufunc.__name__))
        if found is None:
            return NotImplemented
        given = {} if out is None else {"out": out[0] if len(out) == 1 else out}
        return (found if method == "__call__" else getattr(found, method))(*inputs, **given, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = _named(func.__module__, func.__name__)
        return NotImplemented if found is None else found(*args, **kwargs)


def _at(numbers: Any, key: Any) -> Any:
    """Return an element. Fail where CuPy would silently wrap an index out of range, so that kernels do not rely on
    errors.
    """
    try:
        return numbers[key]
    except IndexError as error:
        raise AssertionError(f"CuPy does not say so, it takes another place: {error}") from None


def _named(module: str, name: str) -> Any:
    """Return CuPy's function for one of NumPy's."""
    import tests.cupy_stand_in as cupy

    try:
        return getattr(reduce(getattr, module.split(".")[1:], cupy), name)
    except AttributeError:
        return None


def inside(value: Any) -> Any:
    """Return NumPy's arrays for CuPy's. Raise TypeError for NumPy arrays, which CuPy's functions refuse."""
    if isinstance(value, ndarray):
        return value.numbers
    if isinstance(value, numpy.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, dict):
        return {name: inside(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [inside(each) for each in value] if isinstance(value, list) else tuple(map(inside, value))
    return value


def outside(value: Any) -> Any:
    """Return CuPy's arrays for NumPy's. A result without dimensions is an array too."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return ndarray.of(value)
    if isinstance(value, list):
        return [outside(each) for each in value]
    if isinstance(value, tuple):
        parts = [outside(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


BINARY = {
    **{name: f"bitwise_{name}" for name in ("and", "or", "xor")},
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "matmul": "matmul",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}


def _operator(name: str, order: int = 1) -> Callable[..., Any]:
    def operator(*operands: Any) -> Any:
        return _named("numpy", name)(*operands[::order])

    return operator


def _in_place(name: str) -> Callable[[ndarray, Any], ndarray]:
    def operator(self: ndarray, other: Any) -> ndarray:
        _named("numpy", name)(self, other, out=self)
        return self

    return operator


for _short, _name in (BINARY | COMPARISONS | UNARY).items():
    setattr(ndarray, f"__{_short}__", _operator(_name))
for _short, _name in BINARY.items():
    setattr(ndarray, f"__r{_short}__", _operator(_name, -1))
    setattr(ndarray, f"__i{_short}__", _in_place(_name))

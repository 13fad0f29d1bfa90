"""The kinds of Python objects that users pass to parameters, and calls to pass them to.

Each call is written once, for PyTorch and for the model: ``T`` is one or the other, ``v`` the argument.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

CALLS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()


class Index:
    """An object that has only ``__index__``."""

    def __index__(self) -> int:
        return 2


class Float:
    """An object that has only ``__float__``."""

    def __float__(self) -> float:
        return 2.0


def kinds(T: Any) -> dict[str, Callable[[], Any]]:
    """Return for each kind, by name, a function that creates an object on one side."""
    return {**_numbers(), **_tensors(T), **_numpy(), **_lists(T), **_others(T)}


def _numbers() -> dict[str, Callable[[], Any]]:
    values = (0, 2, True, 2.0, 2.5, 2j, float("inf"), float("nan"), 2**63, -(2**63) - 1, 2**64, 2**100)
    return {repr(value): lambda value=value: value for value in values}  # type: ignore[misc]


def _tensors(T: Any) -> dict[str, Callable[[], Any]]:
    return {
        "int64 tensor": lambda: T.tensor(2),
        "int32 tensor": lambda: T.tensor(2, dtype=T.int32),
        "uint8 tensor": lambda: T.tensor(2, dtype=T.uint8),
        "bool tensor": lambda: T.tensor(True),
        "float tensor": lambda: T.tensor(2.0),
        "complex tensor": lambda: T.tensor(2j),
        "float tensor that requires grad": lambda: T.tensor(2.0, requires_grad=True),
        "parameter": lambda: T.nn.Parameter(T.tensor(2.0)),
        "int tensor of one element": lambda: T.tensor([2]),
        "int tensor of a row of one": lambda: T.tensor([[2]]),
        "bool tensor of one element": lambda: T.tensor([True]),
        "float tensor of one element": lambda: T.tensor([2.0]),
        "int tensor of two elements": lambda: T.tensor([2, 2]),
        "tensor of no element": lambda: T.tensor([]),
    }


def _numpy() -> dict[str, Callable[[], Any]]:
    scalars = (numpy.int64, numpy.int32, numpy.uint8, numpy.bool_, numpy.float64, numpy.float32, numpy.complex64)
    arrays = (2, [2], [2, 2], 2.0)
    return {
        **{f"numpy.{kind.__name__}": lambda kind=kind: kind(2) for kind in scalars},  # type: ignore[misc]
        **{f"array({data})": lambda data=data: numpy.array(data) for data in arrays},  # type: ignore[misc]
        "numpy.uint64 beyond int64": lambda: numpy.uint64(2**63 + 5),
    }


def _lists(T: Any) -> dict[str, Callable[[], Any]]:
    inside: dict[str, Callable[[], Any]] = {
        "2": lambda: 2,
        "True": lambda: True,
        "2.0": lambda: 2.0,
        "None": lambda: None,
        "'a'": lambda: "a",
        "2**63": lambda: 2**63,
        "Index": Index,
        "int tensor": lambda: T.tensor(2),
        "int tensor of one element": lambda: T.tensor([2]),
        "float tensor": lambda: T.tensor(2.0),
        "float tensor that requires grad": lambda: T.tensor(2.0, requires_grad=True),
        "bool tensor": lambda: T.tensor(True),
        "numpy.int64": lambda: numpy.int64(2),
        "numpy.bool": lambda: numpy.bool_(True),
        "numpy.float64": lambda: numpy.float64(2),
    }
    found: dict[str, Callable[[], Any]] = {"[]": list, "(2,)": lambda: (2,)}
    for name, make in inside.items():
        found[f"[{name}]"] = lambda make=make: [make()]  # type: ignore[misc]
        found[f"[2, {name}]"] = lambda make=make: [2, make()]  # type: ignore[misc]
    return found


def _others(T: Any) -> dict[str, Callable[[], Any]]:
    return {
        "None": lambda: None,
        "'2'": lambda: "2",
        "'cpu'": lambda: "cpu",
        "b'cpu'": lambda: b"cpu",
        "Index": Index,
        "Float": Float,
        "range": lambda: range(2, 3),
        "set": lambda: {2},
        "dict": dict,
        "float": lambda: float,
        "int": lambda: int,
        "bool": lambda: bool,
        "numpy's dtype": lambda: numpy.dtype("float64"),
        "dtype": lambda: T.float64,
        "device": lambda: T.device("cpu"),
        "Size": lambda: T.Size([2]),
        "layout": lambda: T.strided,
        "memory format": lambda: T.contiguous_format,
        "generator": T.Generator,
    }


def answer(T: Any, call: str, kind: str) -> str:
    """Return the result of a call, or its error, as text."""
    T.manual_seed(3)
    names = {"T": T, "F": T.nn.functional, "numpy": numpy, "v": kinds(T)[kind]()}
    names |= {"x": T.arange(12.0).reshape(3, 4).clone(), "i": T.arange(3), "w": T.ones(2, 2, 2, 2)}
    names["x4"] = T.arange(32.0).reshape(1, 2, 4, 4)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return described(eval(call, names))
        except Exception as error:
            return f"{type(error).__name__}: {_same_everywhere(str(error))}"


def _same_everywhere(text: str) -> str:
    """Return a text without the build path of a release and the C++ stack trace."""
    return text.split("\nException raised")[0].rstrip('"').replace("/__w/pytorch/pytorch/", "")


def described(value: Any) -> str:
    """Return a result as text: for tensors the shape, the dtype, and the numbers to four digits."""
    if hasattr(value, "detach"):
        numbers = value.detach().reshape(-1)[:8].tolist() if value.numel() else []
        text = " ".join(f"{number + 0:.4g}" for number in numbers)
        return f"{value.dtype} {tuple(value.shape)} {value.requires_grad}: {text}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    return f"{type(value).__name__} {value!r}".split(" at 0x")[0]

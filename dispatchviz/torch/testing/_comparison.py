"""Assertions over tensors (``torch/testing/_comparison.py``)."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.size import Size

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""The tolerances of each dtype: rtol, atol. Other dtypes are compared exactly."""


class Options(NamedTuple):
    """Tolerances and checks of a comparison."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError if two values, or values inside sequences and mappings, differ too much.

    Raise TypeError for two values that cannot be compared, ValueError for one tolerance without the other.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    options = Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    pairs = list(_pairs(actual, expected, ()))
    failures = [(failure, path) for one, other, path in pairs if (failure := _difference(one, other, options))]
    for failure, path in failures:
        where = "".join(f"[{part!r}]" for part in path)
        found = failure + (f"\n\nThe failure occurred for item {where}" if path else "")
        raise AssertionError(found if msg is None else msg(found) if callable(msg) else msg)


def _pairs(actual: Any, expected: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Yield the pairs of values inside both, with their paths. Raise AssertionError if the containers differ."""
    if _both(actual, expected, Sequence) and not _any(actual, expected, (str, Size)):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(one, other, (*path, i))
    elif _both(actual, expected, Mapping):
        _check_keys(actual, expected)
        for key in _sorted(actual):
            yield from _pairs(actual[key], expected[key], (*path, key))
    elif _are_dataclasses(actual, expected) and not isinstance(_equal(actual, expected), bool):
        for field in dataclasses.fields(actual):
            if field.compare:
                yield from _pairs(getattr(actual, field.name), getattr(expected, field.name), (*path, field.name))
    else:
        yield actual, expected, path


def _are_dataclasses(actual: Any, expected: Any) -> bool:
    return dataclasses.is_dataclass(actual) and not isinstance(actual, type) and type(actual) is type(expected)


def _equal(actual: Any, expected: Any) -> Any:
    """Return the result of ``==``: a tensor, or None, if fields that are tensors keep it from an answer."""
    try:
        return actual == expected
    except RuntimeError as error:
        if "Boolean value of Tensor" not in str(error):
            raise
        return None


def _sorted(keys: Iterable[Any]) -> list[Any]:
    """Return keys in their order, or as they come if they have none."""
    try:
        return sorted(keys)
    except TypeError:
        return [*keys]


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    missing, additional = sorted(expected.keys() - actual.keys()), sorted(actual.keys() - expected.keys())
    if missing or additional:
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
        )


def _both(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _any(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) or isinstance(expected, kind)


def _difference(actual: Any, expected: Any, options: Options) -> str:
    """Return the first difference in PyTorch's words, or an empty string."""
    if actual is None or expected is None:
        return "" if actual is expected else f"None mismatch: {actual} is not {expected}"
    if _both(actual, expected, (bool, numpy.bool_)):
        return "" if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"
    if _both(actual, expected, (int, float, complex)):
        return _difference_of_numbers(actual, expected, options)
    if _both(actual, expected, numpy.ndarray):
        actual, expected = (torch.as_tensor(array) for array in (actual, expected))
    if _both(actual, expected, Tensor) and _are_related(type(actual), type(expected), options.allow_subclasses):
        return _difference_of_attributes(actual, expected, options) or _difference_of_tensors(actual, expected, options)
    if _are_dataclasses(actual, expected):
        return "" if actual == expected else f"{actual} != {expected}"
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {_shown(type(actual))} and {_shown(type(expected))}."
    )


def _are_related(one: type, other: type, allow_subclasses: bool) -> bool:
    return one is other or (allow_subclasses and (issubclass(one, other) or issubclass(other, one)))


def _shown(kind: type) -> str:
    return "<class 'torch.Tensor'>" if kind is Tensor else str(kind)


_LEGACY_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Compare as ``assert_close`` does, but allow different dtypes and equal nans. Warn that the function is
    deprecated.
    """
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        known = [_LEGACY_TOLERANCES.get(tensor._dtype.name, (0.0, 0.0)) for tensor in (actual, expected)]
        rtol, atol = (max(values) for values in zip(*known, strict=True))
    how: dict[str, Any] = {"check_device": True, "check_dtype": False, "check_stride": False, "msg": msg or None}
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, **how)


_DEPRECATED = (
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
    "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
    "https://github.com/pytorch/pytorch/issues/61844."
)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _difference_of_numbers(actual: Any, expected: Any, options: Options) -> str:
    if options.check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    tolerance = {int: (0.0, 0.0), float: _TOLERANCES["float64"], complex: _TOLERANCES["complex128"]}
    rtol, atol = _tolerances(options, max(tolerance[type(actual)], tolerance[type(expected)]))
    both_nan = options.equal_nan and actual != actual and expected != expected
    if actual == expected or both_nan or (abs(actual - expected) <= atol + rtol * abs(expected) < float("inf")):
        return ""
    return _mismatch_of_numbers(actual, expected, rtol, atol)


def _mismatch_of_numbers(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    equality = rtol == 0 and atol == 0
    return (
        f"Scalars are not {'equal' if equality else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{_allowed(atol, equality)}\n"
        f"Relative difference: {relative}{_allowed(rtol, equality)}"
    )


def _allowed(tolerance: float, equality: bool) -> str:
    return "" if equality else f" (up to {tolerance} allowed)"


def _tolerances(options: Options, default: tuple[float, float]) -> tuple[float, float]:
    return default if options.rtol is None or options.atol is None else (options.rtol, options.atol)


# -- tensors -----------------------------------------------------------------------------------------------------------


def _difference_of_attributes(actual: Tensor, expected: Tensor, options: Options) -> str:
    attributes = (
        ("shape", True, Size(actual._size), Size(expected._size)),
        ("stride()", options.check_stride, actual._stride, expected._stride),
        ("device", options.check_device, actual._device, expected._device),
        ("dtype", options.check_dtype, actual._dtype, expected._dtype),
    )
    for name, checked, one, other in attributes:
        if checked and one != other:
            return f"The values for attribute '{name}' do not match: {one} != {other}."
    return ""


def _difference_of_tensors(actual: Any, expected: Any, options: Options) -> str:
    if "meta" in (actual.device.type, expected.device.type):
        return ""
    rtol, atol = _tolerances(options, max(_default(actual.dtype), _default(expected.dtype)))
    actual, expected = _equalized(actual, expected)
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if torch.all(matches):
        return ""
    if not actual.shape:
        return _mismatch_of_numbers(actual.item(), expected.item(), rtol, atol)
    return _mismatch_of_tensors(actual, expected, matches, rtol, atol)


def _equalized(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Return the tensors on one device and of one dtype."""
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        dtype = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    return actual, expected


def _default(dtype: DType) -> tuple[float, float]:
    return _TOLERANCES.get(dtype.name, (0.0, 0.0))


def _mismatch_of_tensors(actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    elements = matches.numel()
    count = elements - int(torch.sum(matches))
    actual_flat, expected_flat, matches_flat = actual.flatten(), expected.flatten(), matches.flatten()
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual_flat, expected_flat = actual_flat.to(torch.int64), expected_flat.to(torch.int64)
    absolute = torch.abs(actual_flat - expected_flat)
    most_absolute = _greatest(absolute, matches_flat)
    most_relative = _greatest(absolute / torch.abs(expected_flat), matches_flat)
    equality = rtol == 0 and atol == 0
    lines = [
        f"Mismatched elements: {count} / {elements} ({count / elements:.1%})",
        _greatest_line("absolute", most_absolute, matches.shape, atol, equality),
        _greatest_line("relative", most_relative, matches.shape, rtol, equality),
    ]
    return f"Tensor-likes are not {'equal' if equality else 'close'}!\n\n" + "\n".join(lines)


def _greatest(differences: Any, matches: Any) -> Any:
    """Return the greatest difference and its place. Elements that match are made zero."""
    differences[matches] = 0
    return torch.max(differences, 0)


def _greatest_line(kind: str, found: Any, shape: Any, tolerance: float, equality: bool) -> str:
    difference, place = found
    number = difference.item()
    index = tuple(int(i) for i in numpy.unravel_index(int(place), shape))
    return f"Greatest {kind} difference: {number} at index {index}{_allowed(tolerance, equality)}"

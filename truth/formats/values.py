"""Numbers of tensors as JSON on one line: ``{"float32[2,3]":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}``.

A recorded tensor is a dict of ``shape``, ``stride``, ``dtype`` and ``data``. Here its only key is dtype and shape,
followed by the strides if they are not contiguous: ``float32[2,3](1,2)``.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TENSOR = re.compile(r"(\w+)\[([\d,]*)\](?:\(([\d,]*)\))?")
_PARTS = {"shape", "stride", "dtype", "data"}


def value_text(value: Any) -> str:
    """A recorded value on one line. Raise ValueError for a dict that would be read as a tensor."""
    return json.dumps(_short(value), separators=(",", ":"), ensure_ascii=False)


def read_value(text: str) -> Any:
    """The value that ``value_text`` wrote."""
    return json.loads(text, object_hook=_long)


def tensor_text(shape: list[int], stride: list[int], dtype: str) -> str:
    """The key of a tensor: dtype, shape and, unless contiguous, strides."""
    strides = "" if stride == contiguous(shape) else f"({numbers_text(stride)})"
    return f"{dtype.removeprefix('torch.')}[{numbers_text(shape)}]{strides}"


def numbers_text(numbers: list[int]) -> str:
    """Numbers separated by commas, such as ``2,3``."""
    return ",".join(map(str, numbers))


def read_numbers(text: str) -> list[int]:
    """The numbers of a text such as ``2,3``."""
    return [int(number) for number in text.split(",")] if text else []


def contiguous(shape: list[int]) -> list[int]:
    """The strides, in elements, of a new tensor of a shape; a size of 0 counts as 1."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == _PARTS:
        return {tensor_text(value["shape"], value["stride"], value["dtype"]): value["data"]}
    if len(value) == 1 and _TENSOR.fullmatch(next(iter(value))):
        raise ValueError(f"{value} would be read as a tensor")
    return {name: _short(item) for name, item in value.items()}


def _long(found: dict[str, Any]) -> Any:
    tensor = _TENSOR.fullmatch(next(iter(found))) if len(found) == 1 else None
    if tensor is None:
        return found
    shape = read_numbers(tensor[2])
    stride = contiguous(shape) if tensor[3] is None else read_numbers(tensor[3])
    return {"shape": shape, "stride": stride, "dtype": f"torch.{tensor[1]}", "data": next(iter(found.values()))}

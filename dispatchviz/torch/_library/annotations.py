"""The type annotations that functions of custom operators may have, and their types in a schema.

Mirrors the tables of ``torch/_library/infer_schema.py``; the module ``infer_schema`` reads annotations.
"""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Iterator
from types import GenericAlias
from typing import Any

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.types import Number

GroupName = typing.NewType("GroupName", str)
"""The annotation for names of process groups. NB: in PyTorch, they are for distributed programs, which do not exist
here.
"""
GroupName.__module__ = "torch.distributed.distributed_c10d"

TYPES: tuple[tuple[Any, str, str], ...] = (
    (Tensor, "Tensor", "list, list of optionals"),
    (int, "SymInt", "list, optional list"),
    (float, "float", "list, optional list"),
    (bool, "bool", "list, optional list"),
    (str, "str", ""),
    (Number, "Scalar", "list"),
    (DType, "ScalarType", ""),
    (Device, "Device", ""),
    (GroupName, "str", ""),
)
"""Python type, schema type, and the compounds besides ``Optional`` that may contain it."""


def _compounds(python: Any, schema: str, allowed: str) -> Iterator[tuple[Any, str]]:
    yield python, schema
    yield typing.Optional[python], f"{schema}?"  # noqa: UP045  PyTorch's table is keyed by these very objects
    names = allowed.split(", ")
    if "list" in names:
        yield from ((sequence, f"{schema}[]") for sequence in _sequences(python))
    if "list of optionals" in names:
        yield from ((sequence, f"{schema}?[]") for sequence in _sequences(typing.Optional[python]))  # noqa: UP045
    if "optional list" in names:
        yield from ((typing.Optional[sequence], f"{schema}[]?") for sequence in _sequences(python))  # noqa: UP045


def _sequences(python: Any) -> tuple[Any, ...]:
    return (
        typing.Sequence[python],
        typing.List[python],  # noqa: UP006
        GenericAlias(collections.abc.Sequence, (python,)),
        GenericAlias(list, (python,)),
    )


SUPPORTED_PARAM_TYPES: dict[Any, str] = {known: text for row in TYPES for known, text in _compounds(*row)}

SUPPORTED_RETURN_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}

"""Names and signatures of an installed CuPy, for the checks of ``tests/cupy_stand_in``. No GPU is needed.

Needs ``cupy-cuda12x`` or another of CuPy's packages, and ``ml_dtypes``; without it CuPy has no loops for bfloat16.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truth import records
from truth.formats.json_text import json_text

MODULES = ("cupy", "cupy.linalg", "cupy.fft", "cupy.lib.stride_tricks", "cupy.cuda", "cupyx", "cupyx.scipy.special")
"""The modules that kernels may use."""


def parameters(function: Any) -> list[str] | None:
    """The parameter names of a function, with a star before variadic ones; None if it has no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _written_parameters(function.__doc__ or "")
    return [{p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name for p in found]


def _written_parameters(text: str) -> list[str] | None:
    """The parameters of a method of a compiled class, from the signature in the first line of its docstring."""
    found = re.match(r"_ndarray_base\.\w+\(self(.*?)\)(?: ->|$)", text.split("\n")[0])
    return None if found is None else re.findall(r", (?:\w+ )?(\*?\w+)", found[1])


def described(value: Any) -> Any:
    """The kind and signature of a name of a module."""
    if type(value).__name__ == "ufunc":  # CuPy has its own class
        return {"ufunc": value.types, "nin": value.nin, "nout": value.nout, "at": value._scatter_op is not None}
    if isinstance(value, type) or inspect.ismodule(value) or not callable(value):
        return {"value": type(value).__name__}
    return {"parameters": parameters(value)}


def module(name: str) -> dict[str, Any]:
    """The public names of a module."""
    found = importlib.import_module(name)
    return {each: described(getattr(found, each)) for each in dir(found) if not each.startswith("_")}


def where() -> Any:
    """The loop of ``where``, which is behind a function that converts its condition to bool."""
    return described(importlib.import_module("cupy._sorting.search")._where_ufunc)


def array() -> dict[str, Any]:
    """The attributes of an array."""
    cupy = importlib.import_module("cupy")
    return {each: parameters(getattr(cupy.ndarray, each)) for each in dir(cupy.ndarray)}


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    version = importlib.import_module("cupy").__version__
    modules = {name: module(name) for name in sorted(MODULES)}
    modules["cupy"]["where"] = where()
    modules["cupy"] = dict(sorted(modules["cupy"].items()))
    yield records.HERE / "cupy.json", json_text({"array": array(), "modules": modules, "version": version})

"""Asks an installed CuPy what it has and writes it down: no GPU is needed to ask.

    python -m scripts.record_cupy

writes ``tests/data/cupy.json.gz``, by which ``tests/cupy_stand_in`` refuses what CuPy refuses. Needs ``cupy-cuda12x``
or another of CuPy's packages, and ``ml_dtypes``, without which CuPy shows no loops for bfloat16.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "tests" / "data" / "cupy.json.gz"
MODULES = ("cupy", "cupy.linalg", "cupy.fft", "cupy.lib.stride_tricks", "cupy.cuda", "cupyx", "cupyx.scipy.special")
"""The modules that kernels may reach for."""


def parameters(function: Any) -> list[str] | None:
    """The names of its parameters, a star before what takes several; None where it does not say."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _written_parameters(function.__doc__ or "")
    return [{p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name for p in found]


def _written_parameters(text: str) -> list[str] | None:
    """Those of a method of a compiled class, from the signature in its first line."""
    found = re.match(r"_ndarray_base\.\w+\(self(.*?)\)(?: ->|$)", text.split("\n")[0])
    return None if found is None else re.findall(r", (?:\w+ )?(\*?\w+)", found[1])


def described(value: Any) -> Any:
    """What a name of a module is."""
    if type(value).__name__ == "ufunc":  # a class of CuPy's own
        return {"ufunc": value.types, "nin": value.nin, "nout": value.nout, "at": value._scatter_op is not None}
    if isinstance(value, type) or inspect.ismodule(value) or not callable(value):
        return {"value": type(value).__name__}
    return {"parameters": parameters(value)}


def module(name: str) -> dict[str, Any]:
    """Its public names."""
    found = importlib.import_module(name)
    return {each: described(getattr(found, each)) for each in dir(found) if not each.startswith("_")}


def where() -> Any:
    """``where`` is one loop behind a function that makes its condition bool."""
    return described(importlib.import_module("cupy._sorting.search")._where_ufunc)


def array() -> dict[str, Any]:
    """The attributes of an array."""
    cupy = importlib.import_module("cupy")
    return {each: parameters(getattr(cupy.ndarray, each)) for each in dir(cupy.ndarray)}


def main() -> None:
    """Writes the file."""
    version = importlib.import_module("cupy").__version__
    found: dict[str, Any] = {"version": version, "array": array(), "modules": {name: module(name) for name in MODULES}}
    found["modules"]["cupy"]["where"] = where()
    DATA.write_bytes(gzip.compress(json.dumps(found, indent=1, sort_keys=True).encode(), mtime=0))


if __name__ == "__main__":
    main()

"""The engine that a user asks for: ``--engine``, else the environment, else ``pyproject.toml``, else ``auto``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from dispatchviz.foundation.errors import DispatchvizError

EngineName = Literal["model", "torch"]
"""The name of an engine, which runs a program."""

RequestedEngine = Literal["auto", "model", "torch"]
"""A value of ``--engine``. ``auto`` chooses by the names that the program uses."""

ENGINES: tuple[RequestedEngine, ...] = ("auto", "model", "torch")

VARIABLE = "DISPATCHVIZ_ENGINE"
"""The environment variable that names the engine."""

SETTINGS = "pyproject.toml"
"""The file whose table ``[tool.dispatchviz]`` may name the engine."""


def requested_engine(option: RequestedEngine | None, folder: str) -> RequestedEngine:
    """Return the engine for a program in a folder. Raise DispatchvizError for a setting that names none."""
    if option is not None:
        return option
    if value := os.environ.get(VARIABLE):
        return _checked(value, f"{VARIABLE}={value}")
    return _from_settings(Path(folder or ".").resolve())


def _from_settings(folder: Path) -> RequestedEngine:
    """Return the engine of the nearest ``pyproject.toml``, in the folder or above it."""
    file = next((file for each in (folder, *folder.parents) if os.path.isfile(file := each / SETTINGS)), None)
    value = None if file is None else _table(file).get("engine")
    return "auto" if value is None else _checked(value, f"{file}: [tool.dispatchviz] engine = {value!r}")


def _table(file: Path) -> dict[str, Any]:
    """Return the table ``[tool.dispatchviz]`` of a file. A file that does not mention dispatchviz is not read as
    TOML.
    """
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError:
        return {}
    if "dispatchviz" not in text:
        return {}
    import tomllib

    try:
        table = tomllib.loads(text).get("tool", {}).get("dispatchviz", {})
    except tomllib.TOMLDecodeError as error:
        raise DispatchvizError(f"cannot read {file}: {error}") from None
    if not isinstance(table, dict):
        raise DispatchvizError(f"{file}: tool.dispatchviz is not a table")
    return table


def _checked(value: object, place: str) -> RequestedEngine:
    if value not in ENGINES:
        raise DispatchvizError(f"{place}: the engines are auto, model and torch")
    return value

"""The engine whose ``torch`` running Python code uses: the code of ``with record()``, and the cells of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FrameType, ModuleType
from typing import Any

from dispatchviz.running.engine_choice.requested_engine import EngineName
from dispatchviz.running.torch_names import MODEL, is_model, is_torch


def engine_used_in(frame: FrameType) -> EngineName:
    """Return the engine whose modules the variables of a frame name; the model if they name both or none."""
    names = {each.__name__ for space in (frame.f_globals, frame.f_locals) for each in _modules(space)}
    return "torch" if any(map(is_torch, names)) and not any(map(is_model, names)) else "model"


def meanings(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return the modules of PyTorch that variables name: ``F`` -> ``torch.nn.functional``."""
    named = {name: value.__name__ for name, value in variables.items() if isinstance(value, ModuleType)}
    return {name: known for name, module in named.items() if is_torch(known := module.removeprefix(MODEL))}


def belongs_to(value: object) -> EngineName | None:
    """Return the engine whose tensor or module a value is; None for any other value."""
    for engine, module in (("model", "dispatchviz.torch"), ("torch", "torch")):
        torch = sys.modules.get(module)
        if torch is not None and torch.__name__ == module and isinstance(value, (torch.Tensor, torch.nn.Module)):
            return "model" if engine == "model" else "torch"
    return None


def _modules(variables: Mapping[str, Any]) -> Iterable[ModuleType]:
    return [value for value in list(variables.values()) if issubclass(type(value), ModuleType)]  # asks no object

"""The engine that ``dispatch_trace`` records for a test: the installed PyTorch or the model.

The setting ``dispatchviz_engine`` names one, or ``auto``. Then the test itself decides: the ``torch`` of its module,
the names that its function imports, the ``torch`` of what its module imports. A test that shows none of these gets the
installed PyTorch if the process has imported it, else the model.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.recording import EngineName
from dispatchviz.testing.torch_modules import MODEL, has_pytorch, is_installed_pytorch, is_model


class EngineError(DispatchvizError):
    """Raised if a test cannot be recorded on the engine that was asked for."""


def engine_of(asked: str, module: ModuleType | None, function: object) -> EngineName:
    """Return the engine to record for a test function of a module. ``asked`` is the setting.

    Raise EngineError if the test uses the other engine, or if nothing decides between two.
    """
    found = _engines(module, function)
    if asked != "auto":
        engine: EngineName = "torch" if asked == "torch" else "model"
        if found and engine not in found:
            raise EngineError(_other(engine, module))
        return engine
    if len(found) > 1:
        raise EngineError(
            f"{_file(module)} uses the model and the installed PyTorch: give the one to record the name `torch` there, "
            "or choose it with --dispatchviz-engine=model or --dispatchviz-engine=torch"
        )
    return next(iter(found), "torch" if is_installed_pytorch(sys.modules.get("torch")) else "model")


def _other(asked: EngineName, module: ModuleType | None) -> str:
    if asked == "torch":
        return (
            f"--dispatchviz-engine=torch records the installed PyTorch, but {_file(module)} imports the model "
            "(`from dispatchviz import torch`): write `import torch` there, or use --dispatchviz-engine=auto"
        )
    return (
        f"--dispatchviz-engine=model records the model, but `torch` in {_file(module)} is the installed PyTorch, which "
        "was imported before dispatchviz could replace it: load dispatchviz first (`-p dispatchviz.testing.plugin`)"
    )


def _file(module: ModuleType | None) -> str:
    return getattr(module, "__name__", "the test").rpartition(".")[2] + ".py"


# -- what a test uses -------------------------------------------------------------------------------------------------


def _engines(module: ModuleType | None, function: object) -> set[EngineName]:
    """Return the engines that a test uses, as far as it shows: the strongest sign decides."""
    names = {} if module is None else vars(module)
    return (
        _of_modules([names.get("torch")])
        or _of_imports(function)
        or _of_modules(names.values())
        or _of_modules(_torch_of_imported(names))
    )


def _of_modules(values: Any) -> set[EngineName]:
    found: set[EngineName] = set()
    for value in values:
        if is_model(value):
            found.add("model")
        elif is_installed_pytorch(value):
            found.add("torch")
    return found


def _of_imports(function: object) -> set[EngineName]:
    """Return the engine that a function's own imports name."""
    code = getattr(function, "__code__", None)
    names = set(code.co_names) if code is not None else set()
    if MODEL in names or {"dispatchviz", "torch"} <= names:
        return {"model"}
    own = code is not None and "torch" in code.co_varnames and "torch" in names
    return {"torch"} if own and has_pytorch() and not is_model(sys.modules.get("torch")) else set()


def _torch_of_imported(names: Mapping[str, object]) -> Iterator[object]:
    """Yield the ``torch`` of the modules and functions that a module imported."""
    for value in names.values():
        if isinstance(value, ModuleType):
            yield vars(value).get("torch")
        elif isinstance(value, FunctionType):
            yield value.__globals__.get("torch")
        elif isinstance(value, type):
            yield vars(sys.modules.get(value.__module__, sys)).get("torch")

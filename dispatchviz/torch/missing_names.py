"""The errors for names and modules that the model lacks, and the ``__getattr__`` of modules that raises them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any, TypeVar

from dispatchviz.torch._lazy_modules import ATTRIBUTES, attribute_of, is_unloaded, names_of
from dispatchviz.torch.version import __version__

LACKS = f"is not in dispatchviz's model of PyTorch {__version__}"
INSTALLED = "an installed PyTorch may have it: --engine torch records the program there"
"""The remedy that the messages suggest."""

Function = TypeVar("Function", bound=Callable[..., Any])

stubs: set[Callable[..., Any]] = set()
"""Functions that only raise, because the model lacks what they do."""
stand_ins: set[Callable[..., Any]] = set()
"""Functions that return their argument, because the model does not compile."""


def stub(function: Function) -> Function:
    """Mark a function that only raises. ``--engine auto`` counts its name as missing."""
    stubs.add(function)
    return function


def stand_in(function: Function) -> Function:
    """Mark a function that only returns its argument. ``--engine auto`` prefers an installed PyTorch."""
    stand_ins.add(function)
    return function


def missing(module: str, name: str, close: Sequence[str] = ()) -> Exception:
    """Return the error for a module's ``__getattr__`` to raise. Call it there: it inspects the calling frame.

    ``close`` has similar names, for a name that PyTorch does not have either. It is an AttributeError in general.
    Within ``from module import name`` and ``import module.name`` Python replaces an AttributeError by a message of its
    own, but lets an ImportError through.
    """
    module = module.removeprefix(_MODEL)
    asker = sys._getframe(2)
    if name == "__path__" and asker.f_code.co_name == "_find_and_load_unlocked":  # importlib, for `import module.name`
        return missing_module(asker.f_locals["name"])
    text = f"{module}.{name} {LACKS}; {INSTALLED}"
    if close:
        text = f"{module}.{name} is neither in dispatchviz's model nor in PyTorch {__version__}; {_listed(close)}"
    if _imports_from(asker) and f"{_MODEL}{module}.{name}" not in sys.modules:  # present in a circular import
        return ImportError(f"cannot import name '{name}' from '{module}': {text}", name=module)
    return AttributeError(f"module '{module}' has no attribute '{name}'" if name.startswith("__") else text)


def missing_module(name: str) -> ModuleNotFoundError:
    """Return the error for a missing module."""
    name = name.removeprefix(_MODEL)
    return ModuleNotFoundError(f"No module named '{name}': it {LACKS}; {INSTALLED}", name=name)


def _listed(close: Sequence[str]) -> str:
    return f"close name{'s' * (len(close) > 1)}: {', '.join(close)}"


def _imports_from(frame: FrameType) -> bool:
    """Return whether a frame is within ``from module import name``."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


_MODEL = "dispatchviz."


def getter(module: ModuleType) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of one module. It raises the error of ``missing`` for unknown names."""
    elsewhere = ATTRIBUTES.get(module.__name__, {})

    def find(attribute: str) -> Any:
        if attribute in elsewhere:
            return attribute_of(module, attribute)
        raise missing(module.__name__, attribute)

    return find


def install() -> None:
    """Install a ``__getattr__`` in all loaded modules that have none."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{_MODEL}torch.") and not is_unloaded(module) and "__getattr__" not in vars(module):
            members: dict[str, Any] = vars(module)
            members["__getattr__"] = getter(module)
            if name in ATTRIBUTES:
                members["__dir__"] = lambda module=module: names_of(module)

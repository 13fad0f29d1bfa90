"""The errors for names and modules that the model lacks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from opcode import opmap
from types import FrameType

from dispatchviz.torch.version import __version__

LACKS = f"is not in dispatchviz's model of PyTorch {__version__}"
INSTALLED = "an installed PyTorch may have it: --engine torch records the program there"
"""The way out that the messages give."""


def missing(module: str, name: str, close: Sequence[str] = ()) -> Exception:
    """The error that a module's ``__getattr__`` raises. Call it there: it looks at the frame that asks for the name.

    An AttributeError in general. Within ``from module import name`` and ``import module.name`` Python replaces that
    one by a text of its own, but lets an ImportError through.
    """
    module = module.removeprefix(_MODEL)
    asker = sys._getframe(2)
    if name == "__path__" and asker.f_code.co_name == "_find_and_load_unlocked":  # importlib's, of `import module.name`
        return missing_module(asker.f_locals["name"])
    hint = f"; close names that it has: {', '.join(close)}" if close else ""
    text = f"{module}.{name} {LACKS}{hint}; {INSTALLED}"
    if _imports_from(asker) and f"{_MODEL}{module}.{name}" not in sys.modules:  # there if a circle of imports wants it
        return ImportError(f"cannot import name '{name}' from '{module}': {text}", name=module)
    return AttributeError(f"module '{module}' has no attribute '{name}'" if name.startswith("__") else text)


def missing_module(name: str) -> ModuleNotFoundError:
    """The error for a module."""
    name = name.removeprefix(_MODEL)
    return ModuleNotFoundError(f"No module named '{name}': it {LACKS}; {INSTALLED}", name=name)


def _imports_from(frame: FrameType) -> bool:
    """Whether a frame is within ``from module import name``."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


_MODEL = "dispatchviz."

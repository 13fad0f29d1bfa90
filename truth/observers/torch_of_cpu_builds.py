"""``torch``, imported so that its Python code registers the kernels that it registers in a CPU build.

``torch/_native`` registers kernels that depend on ``torch.backends.cuda.is_built()`` and on installed packages such as
Triton. Import this module before any other that imports torch. It raises ImportError if a CUDA build is already
imported.
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class _Native(importlib.abc.MetaPathFinder):
    """Let ``torch/_native``, when it is first imported, find a PyTorch that is built without CUDA."""

    is_built: Any = None

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "torch._native":
            cuda = sys.modules["torch"].backends.cuda
            self.is_built, cuda.is_built = cuda.is_built, lambda: False

    def restore(self) -> None:
        if self.is_built is not None:
            sys.modules["torch"].backends.cuda.is_built = self.is_built


def _imported() -> Any:
    if (loaded := sys.modules.get("torch")) is not None and loaded.version.cuda is not None:
        raise ImportError("torch is already imported, with the Python kernels of a CUDA build")
    finder = _Native()
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module("torch")
    finally:
        sys.meta_path.remove(finder)
        finder.restore()


torch = _imported()

"""A package ``cupy`` in a folder of its own, for processes that should find it like an installed one."""

from __future__ import annotations

from pathlib import Path

STAND_IN = """
import sys, types
import tests.cupy_stand_in as cupy
cupy.is_available = lambda: True
cupy.cuda.runtime = types.SimpleNamespace(getDeviceProperties=lambda number: {"name": b"stand-in"})
sys.modules["cupy"] = cupy
"""
"""The stand-in, with a GPU that has a name."""


def install(folder: Path, text: str = STAND_IN) -> str:
    """Create the package and return the path to search."""
    (folder / "cupy").mkdir(parents=True)
    (folder / "cupy/__init__.py").write_text(text)
    return str(folder)

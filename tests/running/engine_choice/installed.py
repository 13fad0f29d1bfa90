"""An installed PyTorch for tests that need none, and programs of several files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType

import pytest

from dispatchviz.running.engine_choice import choice
from dispatchviz.running.engine_choice.installed_release import InstalledRelease
from dispatchviz.running.program_source import read_source

CPU = InstalledRelease("2.14.1", True, False)
"""A PyTorch without a GPU."""


def installed(monkeypatch: pytest.MonkeyPatch, release: InstalledRelease | None) -> None:
    """Let this PyTorch be the installed one."""
    monkeypatch.setattr(choice, "installed_release", lambda: release)


def chosen(
    folder: Path, main: str, files: Mapping[str, str] = MappingProxyType({}), only_model: str = ""
) -> choice.Choice:
    """Write ``main.py`` and other files, by their paths without ``.py``, and choose the engine for ``main.py``."""
    for name, text in {**files, "main": main}.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))
    return choice.automatic_choice(read_source(str(folder / "main.py")), only_model)

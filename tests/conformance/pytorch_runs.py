"""Runs of a program on PyTorch, for queries about its variables."""

from __future__ import annotations

from typing import Any


def run(source: str) -> dict[str, Any]:
    """Return the variables at the end of a program, which imports torch itself."""
    names: dict[str, Any] = {}
    exec(compile(source, "program", "exec"), names)  # programs of the tests
    return names

"""Runs a program on PyTorch, for what is asked of its variables."""

from __future__ import annotations

from typing import Any


def run(source: str) -> dict[str, Any]:
    """The variables at the end of a program, which imports torch itself."""
    names: dict[str, Any] = {}
    exec(compile(source, "program", "exec"), names)  # programs of the tests
    return names

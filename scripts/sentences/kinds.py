"""The kinds of sentences, read off the syntax trees: ``Statement("gradient stolen", ...)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dispatchviz.explain

FOLDER = Path(dispatchviz.explain.__file__).parent
DIAGNOSES = FOLDER / "diagnosis"


class Kind(NamedTuple):
    """A kind, and where its sentence is written."""

    name: str
    module: str
    """``kinds/engine.py``."""
    line: int


def kinds() -> list[Kind]:
    """All kinds except those of diagnoses, module by module, in the order in which they are written.

    Raise ValueError if the kind of a statement is not a literal, because it could not be listed.
    """
    return [kind for path in sorted(FOLDER.rglob("*.py")) if DIAGNOSES not in path.parents for kind in _of(path)]


def diagnosis_kinds() -> list[Kind]:
    """The kinds of diagnoses, whose examples are the cases of their tests, without the parts that all diagnoses
    have.
    """
    found = [kind for path in sorted(DIAGNOSES.rglob("*.py")) for kind in _of(path)]
    return [kind for kind in found if not kind.name.startswith("error: ")]


def _of(path: Path) -> Iterator[Kind]:
    calls = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
    module = path.relative_to(FOLDER).as_posix()
    for call in sorted(calls, key=lambda call: call.lineno):
        if isinstance(call.func, ast.Name) and call.func.id == "Statement":
            match call.args:
                case [ast.Constant(value=str(name)), *_]:
                    yield Kind(name, module, call.lineno)
                case _:
                    raise ValueError(f"{module}, line {call.lineno}: the kind of a statement must be a literal")

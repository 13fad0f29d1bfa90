"""Functions and classes of PyTorch's Python files that a release changed, in files that we mirror."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from truth import records
from truth.following import Left, some
from truth.formats.mirrored_files import PACKAGE, mirrored_files
from truth.recorders.source_digests import python_digests

REST = "look at them for constants and new branches; python -m truth.record source_digests when all are done"

Digests = Mapping[str, str]


def left() -> Iterator[Left]:
    """Yield the changed files, and at the end those that changed in nothing that modules of ours have by name."""
    before, after, ours = records.read("source_digests")["python"], python_digests(), mirrored_files()
    rest = []
    for file in sorted(before.keys() | after.keys()):
        mirrored, others = changed(before.get(file, {}), after.get(file, {}), names(ours.get(file, [])))
        modules = ", ".join(path.relative_to(PACKAGE.parent).as_posix() for path in ours.get(file, []))
        yield from some(file, mirrored, f"compare {modules}")
        rest += [f"{file} ({others})"] if others else []
    yield from some("changes without a namesake of ours", rest, REST)


def changed(before: Digests, after: Digests, known: set[str]) -> tuple[list[str], int]:
    """The functions and classes of a file that changed and have a namesake of ours, and the number of other changes."""
    found = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    mirrored = [name for name in found if name and known.issuperset(name.split("."))]
    return [f"{name}{_how(name, before, after)}" for name in mirrored], len(found) - len(mirrored)


def _how(name: str, before: Digests, after: Digests) -> str:
    if name in before and name in after:
        return ""
    return " (removed)" if name in before else " (added)"


def names(modules: Iterable[Path]) -> set[str]:
    """The functions and classes of some modules of ours."""
    trees = (ast.parse(path.read_text("utf-8")) for path in modules)
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, scopes)}

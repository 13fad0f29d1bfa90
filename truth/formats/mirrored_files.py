"""The Python files of PyTorch that modules of ``dispatchviz`` mirror, by the names in their docstrings.

A module mirrors the files that its docstrings name (``torch/optim/sgd.py``), and the file at its own path. If we have a
package where PyTorch has a file (``torch/nn/functional.py``), all modules of the package mirror the file. This module
has no dependencies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "dispatchviz"

_FILE = re.compile(r"(?<![\w/])(?:torch|functorch)/[\w/]+\.py\b")


def mirrored_files() -> dict[str, list[Path]]:
    """The modules of ours by the name of PyTorch's file, also of files that PyTorch does not have."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in dict.fromkeys(_named(path)):
            found.setdefault(name, []).extend(_modules(path, name))
    return {name: sorted(set(paths)) for name, paths in sorted(found.items())}


def _named(path: Path) -> Iterator[str]:
    own = path.relative_to(PACKAGE).as_posix()
    if own.startswith(("torch/", "functorch/")):
        yield own
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str() as text)):
                yield from _FILE.findall(text)


def _modules(path: Path, name: str) -> list[Path]:
    """The modules that mirror a file which a module names."""
    is_package = path == PACKAGE / name.removesuffix(".py") / "__init__.py"
    return [*path.parent.glob("*.py")] if is_package else [path]

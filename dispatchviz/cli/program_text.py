"""The whole text of a program before it runs, if it can be known: its file, and the modules of its own that it imports.

It cannot be known if the program imports other packages, or uses words with which Python runs other code. So every
conclusion from the text (it never reads ``sys.argv``, it defines no operator) is certain.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dispatchviz.running.program_source import Source

RUNS_OTHER_CODE = re.compile(
    r"\b(exec|eval|compile|__import__|importlib|runpy|pkgutil|imp|pickle|loads?|hub|getattr|vars|globals|locals|ctypes"
    r"|__dict__|__builtins__|settrace|sys\.path|sys\.modules)\b"
)

PLAIN = {"torch", "functorch", "numpy", "matplotlib", "tqdm", *sys.stdlib_module_names}
"""Packages that neither define operators of PyTorch nor read a program's arguments, except through the words above."""

MOST = 100
"""The most files of a package that are read."""


class _UnknownError(Exception):
    """The program may run code that its text does not show."""


def whole_program(program: Source) -> dict[str, str] | None:
    """Return the text of each of the program's files, by path; None if it may run others."""
    if program.text is None:
        return None
    texts, left = {program.path: program.text}, [program.text]
    try:
        while left:
            for file in _own_files(left.pop(), Path(program.folder)):
                if str(file) not in texts:
                    left.append(file.read_text("utf-8"))
                    texts[str(file)] = left[-1]
    except (_UnknownError, OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # if Python cannot read it, running it will report this
    return texts


def _own_files(text: str, folder: Path) -> Iterator[Path]:
    """Yield the program's own files that one of its texts imports."""
    if RUNS_OTHER_CODE.search(text):
        raise _UnknownError
    for root in {root for node in ast.walk(ast.parse(text)) for root in _imported(node)}:
        if (file := folder / f"{root}.py").exists():
            yield file
        elif (package := folder / root).is_dir():
            yield from _files_of(package)
        elif root not in PLAIN:
            raise _UnknownError


def _files_of(package: Path) -> list[Path]:
    files = sorted(package.rglob("*.py"))[: MOST + 1]
    if len(files) > MOST:
        raise _UnknownError
    return files


def _imported(node: ast.AST) -> list[str]:
    """Return the first parts of the module names that a statement imports. A relative import stays within its
    package.
    """
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.partition(".")[0]]
    return []

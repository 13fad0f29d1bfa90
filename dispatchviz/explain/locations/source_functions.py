"""The functions in our own sources: the line of a function, its syntax tree, and the function that a call refers to.

Sources are read as text and never imported, so that a trace can be viewed without loading the machine.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2]

LONG = tuple(f"core/generated/{name}.py" for name in ("variable_type", "register_cpu_cuda", "nodes", "register_meta"))


class Found(NamedTuple):
    """A function of ours."""

    file: str
    """The file, relative to the package."""
    function: ast.FunctionDef


@functools.lru_cache(maxsize=256)
def lines_of_file(file: str) -> tuple[str, ...]:
    """Return the lines of a file of the package; empty if it is not a Python file there."""
    try:
        path = (PACKAGE / file).resolve()
        if not path.is_relative_to(PACKAGE.resolve()) or path.suffix != ".py":
            return ()
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):  # ValueError: a trace may hold any name, such as one that no file can have
        return ()


@functools.lru_cache(maxsize=4096)
def own_function_at(file: str, first: int) -> ast.FunctionDef | None:
    """Return the function that begins at a line of a file of the package, or None. The lines need no hash."""
    return function_at(lines_of_file(file), first)


@functools.lru_cache(maxsize=256)
def function_at(lines: tuple[str, ...], first: int) -> ast.FunctionDef | None:
    """Return the syntax tree of the function that begins at a line, or None if there is no function or no Python."""
    text = textwrap.dedent("\n".join(_block(lines, first)))
    try:
        (function,) = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: too deeply nested for the parser
        return None
    ast.increment_lineno(function, first - 1)
    return function if isinstance(function, ast.FunctionDef) else None


def _block(lines: tuple[str, ...], first: int) -> list[str]:
    """Return the lines of a block, up to the next line that is not indented more, except brackets that close there."""
    if not 0 < first <= len(lines):
        return []
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    block, decorated = [lines[first - 1]], lines[first - 1].lstrip().startswith("@")
    for line in lines[first:]:
        text = line.lstrip()
        if text and len(line) - len(text) <= indent and text[0] not in ")]}#\"'" and not decorated:
            break
        decorated = decorated and not text.startswith("def ")
        block.append(line)
    return block


def called_function(file: str, called: ast.expr) -> Found | None:
    """Return the function at the top level of a module that a call in a file refers to, or None."""
    match called:
        case ast.Name(id=name):
            return _defined(file, name) or _imported(file, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            where = _imports(file).get(module)
            return None if where is None else _defined(f"{where[0]}/{where[1]}.py", name)
    return None


def _imported(file: str, name: str) -> Found | None:
    where = _imports(file).get(name)
    return None if where is None else _defined(f"{where[0]}.py", where[1])


@functools.lru_cache(maxsize=4096)
def _defined(file: str, name: str) -> Found | None:
    """Return a function at the top level of a module. It is cached by name: the hash of all lines takes longer."""
    at = _definitions(file).get(name)
    function = None if at is None else own_function_at(file, at)
    return None if function is None else Found(file, function)


def read_ahead() -> None:
    """Read the long files that nearly every call runs, which takes longer than the rest of a step."""
    for file in LONG:
        _definitions(file)
        _imports(file)


@functools.cache
def _definitions(file: str) -> dict[str, int]:
    """Return the first line of each function at the top level of a module."""
    begins = ((number, line) for number, line in enumerate(lines_of_file(file), 1) if line.startswith("def "))
    found = ((number, re.match(r"def (\w+)\(", line)) for number, line in begins)
    return {match[1]: number for number, match in found if match}


@functools.cache
def _imports(file: str) -> dict[str, tuple[str, str]]:
    """Return the imports of a module from the package: the local name, with the module's path without suffix and the
    name in it.
    """
    text = "\n".join(lines_of_file(file))
    found = {}
    for module, names in _IMPORT.findall(text):
        for name in re.findall(r"(\w+(?: as \w+)?)", names):
            own, _, other = name.partition(" as ")
            found[other or own] = (module.replace(".", "/"), own)
    return found


_IMPORT = re.compile(r"from dispatchviz\.([\w.]+) import (\([^)]*\)|[^\n(]+)$", re.MULTILINE)
"""An import. It begins with fixed letters, which a long file is searched for quickly."""

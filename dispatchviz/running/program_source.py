"""Programs before they run, as Python's command line names them: a file, ``-`` for standard input, ``-c CODE``, ``-m
MODULE``; and the text of each, with the names that Python gives it.

Not here: running one (``program.py``). ``cli/options.py``, which reads the command line, imports this module, so it
imports little.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Literal, NamedTuple

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import alternatives, located
from dispatchviz.running.torch_names import is_torch


class Code(NamedTuple):
    """The text of ``-c``."""

    text: str


class Module(NamedTuple):
    """The name of ``-m``."""

    name: str


Script = str | Code | Module
"""A requested program; a text is a file's name, or ``-``."""


class Spawned(NamedTuple):
    """A process that ``multiprocessing`` spawns: the text of ``-c`` that begins it, and the file of its program."""

    text: str
    shown: str
    path: str


STANDARD_INPUT = "-"
"""The name of a script that is given as text, as ``python -`` reads it."""

STDIN, STRING = "<stdin>", "<string>"
"""Python's names for programs without a file."""


def script_of(kind: Literal["file", "code", "module"], program: str) -> Script:
    """Return the program for a file's name, a text or a module's name."""
    return Code(program) if kind == "code" else Module(program) if kind == "module" else program


def typed(script: Script) -> tuple[str, ...]:
    """Return the words after ``dispatchviz run`` that run a program."""
    match script:
        case Code(text):
            return ("-c", text)
        case Module(name):
            return ("-m", name)
    return (script,)


def name_of(script: Script) -> str:
    """Return a program's name before it is read."""
    return script.name if isinstance(script, Module) else STRING if isinstance(script, Code) else script


class Source(NamedTuple):
    """A program that was read."""

    shown: str
    """Its name in traces."""
    path: str
    """Its name in the code object."""
    text: str | None
    """The source text. None for a module that is not the user's own or whose file only its package knows; it runs
    unchanged.
    """
    argument: str
    """The first item of ``sys.argv``."""
    folder: str
    """The first item of ``sys.path``."""
    module: str = ""
    """The module's name, if it runs as ``-m`` runs it."""


def working_folder() -> str:
    """Return the working folder of the process; empty if it no longer exists."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def read_source(script: Script | Spawned, stdin_source: bytes = b"") -> Source:
    """Find and read a program. Raise DispatchvizError if there is none, or if it is not text in its encoding."""
    if isinstance(script, Code):
        return Source(STRING, STRING, _code(script.text), "-c", "")
    if isinstance(script, Module):
        return _module(script.name)
    if isinstance(script, Spawned):
        return Source(script.shown, script.path, _text_of(script.path), "-c", "")
    if script == STANDARD_INPUT:
        return Source(STDIN, STDIN, _decoded(script, stdin_source), script, os.path.dirname(os.path.abspath(STDIN)))
    path = os.path.abspath(located(script))
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        raise DispatchvizError(f"cannot read {script}: {error.strerror}{alternatives(script)}") from None
    return Source(script.replace(os.sep, "/"), path, _decoded(script, raw), script, os.path.dirname(path))


def _text_of(path: str) -> str | None:
    """Return the text of a program's file, or None if it has none."""
    try:
        with open(path, "rb") as file:
            return _decoded(path, file.read())
    except (OSError, DispatchvizError):
        return None


def _code(text: str) -> str:
    """Return the text of ``-c`` as Python takes it. Newer releases allow all of it to be indented."""
    if not MAY_BE_INDENTED:
        return text
    import textwrap

    return textwrap.dedent(text)


MAY_BE_INDENTED, IS_QUOTED = sys.version_info >= (3, 14), sys.version_info >= (3, 13)
"""The treatment of ``-c`` in this Python: whether all of the text may be indented, and whether tracebacks quote it."""


def _decoded(script: str, raw: bytes) -> str:
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return io.TextIOWrapper(io.BytesIO(raw), encoding).read()
    except (SyntaxError, UnicodeDecodeError):
        raise DispatchvizError(f"{script} is not a Python program: it is not text in its encoding") from None


# -- modules ----------------------------------------------------------------------------------------------------------


def _module(name: str) -> Source:
    """Find a module without importing its packages, because their code is part of the program."""
    from dispatchviz.running.call_sites import is_pythons_file, shown_file

    folder = working_folder()
    spec = _spec(name, folder)
    path = spec.origin if spec is not None and spec.origin else ""
    text = _text(spec) if spec is not None and path and not is_pythons_file(path) else None
    return Source(name if text is None else shown_file(path), path, text, "-m", folder, name)


def _spec(name: str, folder: str) -> ModuleSpec | None:
    """Return the spec of a module, or of a package's ``__main__``. Return None if only running it can find it.

    Raise DispatchvizError if no module has the first part of the name.
    """
    first, *rest = name.split(".")
    spec = PathFinder.find_spec(first, [folder, *sys.path[1:]]) if first else None
    if spec is None:
        _check_there(first, name, folder)
        return None
    for part in rest:
        spec = _below(spec, part)
        if spec is None:
            return None
    return spec if spec.submodule_search_locations is None else _below(spec, "__main__")


def _below(package: ModuleSpec, part: str) -> ModuleSpec | None:
    folders = package.submodule_search_locations
    return None if folders is None else PathFinder.find_spec(f"{package.name}.{part}", list(folders))


def _check_there(first: str, name: str, folder: str) -> None:
    from importlib.util import find_spec

    if is_torch(first):  # the model, when the program runs
        return
    try:
        there = first and find_spec(first) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        part = first or "an empty name"
        raise DispatchvizError(f"there is no module named {name}: {part} is neither in {folder} nor installed")


def _text(spec: ModuleSpec) -> str | None:
    """Return the source of a module, or None if it has none."""
    get_source = getattr(spec.loader, "get_source", None)
    try:
        text: str | None = get_source(spec.name) if get_source is not None else None
    except (ImportError, SyntaxError, UnicodeDecodeError):  # Python reports it when it runs the module
        return None
    return text


@contextmanager
def lines_in_tracebacks(source: Source) -> Iterator[None]:
    """Let tracebacks quote the lines of ``-c`` inside the block, if Python's own do."""
    if source.path != STRING or not IS_QUOTED or source.text is None:
        yield
        return
    import linecache

    lines = [f"{line}\n" for line in source.text.splitlines()]
    linecache.cache[STRING] = (len(source.text), None, lines, STRING)
    try:
        yield
    finally:
        linecache.cache.pop(STRING, None)

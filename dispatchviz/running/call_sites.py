"""Where the user's own code is: the frame that called in, its file as traces write it, its statement's first line.

Frames of this package, of the standard library and of installed packages are not the user's.
"""

from __future__ import annotations

import ast
import inspect
import opcode
import os
import sys
import sysconfig
import tokenize
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from dispatchviz.core.record.file_names import shown_file as shown_file

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARY = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


Base = tuple[int, CodeType | None]
"""``id`` and code of a frame that is no part of the program, nor are those that called it.

The frame itself would keep its variables alive; it may be gone, and another one have its ``id``."""


def user_frame(frame: FrameType | None = None, base: Base = (0, None)) -> FrameType | None:
    """The innermost frame of the user's own code, from a frame or the caller's on, or None; up to the base."""
    frame = frame or sys._getframe(1)
    while frame is not None and not (is_users_file(frame.f_code.co_filename) or id(frame.f_code) in _of_users):
        frame = None if id(frame) == base[0] and frame.f_code is base[1] else frame.f_back
    return frame


CodeLocations = tuple[tuple[CodeType, int], ...]
"""Where the user's frames stand, outermost first: code and instruction of each."""


def is_base(frame: FrameType, base: Base) -> bool:
    """Return whether the program ends above a frame."""
    return id(frame) == base[0] and frame.f_code is base[1]


def user_locations(frame: FrameType | None, base: Base) -> CodeLocations:
    """Of a frame and those that called it, up to the base."""
    found = []
    while frame is not None and not (id(frame) == base[0] and frame.f_code is base[1]):
        code = frame.f_code
        if is_users_file(code.co_filename) or id(code) in _of_users:  # ``is_users``, without a call
            found.append((code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found[::-1])


def suspends(frame: FrameType) -> bool:
    """Return whether a frame waits for what it delegates to (``await``, ``yield from``): both are suspended
    together.
    """
    code = frame.f_code
    return may_wait(code) and code.co_code[frame.f_lasti] == _SEND


def may_wait(code: CodeType) -> bool:
    """Return whether a frame of the code may be suspended: a generator's, a coroutine's."""
    return bool(code.co_flags & _MAY_WAIT)


_MAY_WAIT = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SEND = opcode.opmap["SEND"]


def is_users(code: CodeType) -> bool:
    """Return whether a piece of code is the user's own."""
    return is_users_file(code.co_filename) or id(code) in _of_users


_of_users: dict[int, CodeType] = {}
"""Code of programs, by its ``id``: one that ships with a package, or is called ``<string>``, is run as any other."""


def count_as_users(code: CodeType) -> None:
    """A program's code, with the functions in it, is the user's, whatever its file is called."""
    _of_users[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            count_as_users(constant)


@cache
def is_users_file(file: str) -> bool:
    """Return whether a file is the user's own: of no package, no library."""
    path = os.path.abspath(file)
    installed = _is_installed(path) or is_pythons_file(file)
    nameless = file.startswith("<") and file != "<stdin>"  # compiled from a string, and a program without a file
    return not (nameless or installed or path.startswith(_PACKAGE + os.sep))


def _is_installed(path: str) -> bool:
    return any(f"{os.sep}{folder}{os.sep}" in path for folder in INSTALLED)


INSTALLED = "site-packages", "dist-packages"
"""Folders of installed packages; the second is Debian's."""


@cache
def is_pythons_file(file: str) -> bool:
    """Return whether a file is of Python's own library."""
    path = os.path.abspath(file)
    return path.startswith(_LIBRARY) and not _is_installed(path)


@cache
def line_of(code: CodeType, instruction: int) -> int:
    """The line of an instruction (``frame.f_lasti``) of a piece of code."""
    at = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
    return next(at, code.co_firstlineno)


def user_location(traceback: TracebackType | None) -> tuple[str, int]:
    """File and line of the innermost frame of the user's code that an exception came through; ("", 0) if none."""
    location = ("", 0)
    while traceback is not None:
        if is_users(traceback.tb_frame.f_code):
            location = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return location


@cache
def source_of(file: str) -> str:
    """Text of a Python file; empty if it cannot be read."""
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


@cache
def statement_starts(source: str) -> dict[int, int]:
    """For each line of a program the first line of the statement, or of the head of a statement, that it is in."""
    starts: dict[int, int] = {}
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.stmt):
            for line in range(statement.lineno, _end_of_head(statement) + 1):
                starts[line] = max(statement.lineno, starts.get(line, 0))
    return starts


def _end_of_head(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.end_lineno or statement.lineno
    first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return max(statement.lineno, first - 1)

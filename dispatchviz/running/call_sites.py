"""The places in the user's own code: the calling frame, its file as traces write it, the first line of its statement.

Frames of this package, of the standard library and of installed packages do not belong to the user.
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
"""The ``id`` and the code of a frame that does not belong to the program. Its callers do not belong to it either.

The frame itself would keep its variables alive. It may be gone, and another frame may have its ``id``.
"""


def user_frame(frame: FrameType | None = None, base: Base = (0, None)) -> FrameType | None:
    """Return the innermost frame of the user's own code, from a frame or the caller's up to the base, without the base;
    None if there is none.

    A call of a module keeps the frame in a variable. So the walk ends at the innermost one, however many are around it.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and not (id(frame) == base[0] and frame.f_code is base[1]):
        code = frame.f_code
        if is_users_file(code.co_filename) or id(code) in _of_users:  # ``is_users``, without a call
            return frame
        if code.co_name == _CALLS_MODULE and (known := _known_in(frame)) is not None:
            return known
        frame = frame.f_back
    return None


_CALLS_MODULE, _KNOWN = "_wrapped_call_impl", "_users_frame"
"""The function that calls a module, and its variable (``dispatchviz/torch/nn/modules/module_call.py``)."""


def _known_in(frame: FrameType) -> FrameType | None:
    return frame.f_locals.get(_KNOWN) if _KNOWN in frame.f_code.co_varnames else None


CodeLocations = tuple[tuple[CodeType, int], ...]
"""The places of the user's frames, outermost first: code and instruction of each."""


def is_base(frame: FrameType, base: Base) -> bool:
    """Return whether the program ends above a frame."""
    return id(frame) == base[0] and frame.f_code is base[1]


def user_locations(frame: FrameType | None, base: Base) -> CodeLocations:
    """Return the places of a frame and of its callers, up to the base."""
    return () if frame is None or is_base(frame, base) else way_and_locations(frame, base)[1]


Way = tuple[tuple[CodeType, int], ...]
"""The waiting frames, innermost first: code and instruction of each, both the user's and others'."""


def scope_of(code: CodeType) -> str:
    """Return the function that the variables of a frame belong to; empty for the module."""
    return "" if code.co_name == "<module>" else code.co_qualname.replace(".<locals>", "")


def way_and_locations(frame: FrameType, base: Base) -> tuple[Way, CodeLocations]:
    """Return the way by which the function that runs in a frame was called, and the places of the user's frames on it.

    One walk finds both, and asks only once about a code object that calls itself: a deep recursion walks its whole
    stack for each call.
    """
    way: list[tuple[CodeType, int]] = []
    found: list[tuple[CodeType, int]] = []
    last, of_user = None, False
    base_id, base_code = base
    here: FrameType | None = frame
    while here is not None:
        code = here.f_code
        if code is base_code and id(here) == base_id:
            break
        if code is not last:
            last, of_user = code, is_users_file(code.co_filename) or id(code) in _of_users
        place = code, here.f_lasti
        way.append(place)
        if of_user:
            found.append(place)
        here = here.f_back
    return tuple(way[1:]), tuple(found[::-1])


def same_way(frame: FrameType, way: Way) -> bool:
    """Return whether the function that runs in a frame was called in the same way."""
    caller: FrameType | None = frame
    for code, instruction in way:
        caller = caller.f_back  # type: ignore[union-attr]  # the last one was a frame
        if caller is None or caller.f_lasti != instruction or caller.f_code is not code:
            return False
    return True


def suspends(frame: FrameType) -> bool:
    """Return whether a frame waits for another one to which it delegates (``await``, ``yield from``). Both are
    suspended together.
    """
    code = frame.f_code
    return may_wait(code) and code.co_code[frame.f_lasti] == _SEND


def may_wait(code: CodeType) -> bool:
    """Return whether a frame of the code may be suspended: generators and coroutines."""
    return bool(code.co_flags & _MAY_WAIT)


_MAY_WAIT = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SEND = opcode.opmap["SEND"]


def is_users(code: CodeType) -> bool:
    """Return whether a piece of code is the user's own."""
    return is_users_file(code.co_filename) or id(code) in _of_users


_of_users: dict[int, CodeType] = {}
"""The code of programs, by its ``id``. A program from a package, or one called ``<string>``, counts as the user's
too.
"""


def count_as_users(code: CodeType) -> None:
    """Count a program's code and the functions in it as the user's own, whichever name its file has."""
    _of_users[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            count_as_users(constant)


@cache
def is_users_file(file: str) -> bool:
    """Return whether a file is the user's own, and not part of a package or library."""
    path = os.path.abspath(file)
    installed = _is_installed(path) or is_pythons_file(file)
    nameless = file.startswith("<") and file != "<stdin>"  # compiled from a string, and a program without a file
    is_users = not (nameless or installed or path.startswith(_PACKAGE + os.sep))
    if is_users:
        _met.append(file)
    return is_users


_met: list[str] = []
"""The user's files that are known and whose text has not been read."""


def read_met_files() -> None:
    """Read the text of the user's files that have been met, before the program changes or removes them."""
    while _met:
        source_of(_met.pop())


def _is_installed(path: str) -> bool:
    return any(f"{os.sep}{folder}{os.sep}" in path for folder in INSTALLED)


INSTALLED = "site-packages", "dist-packages"
"""Folders of installed packages. The second one is Debian's."""


@cache
def is_pythons_file(file: str) -> bool:
    """Return whether a file belongs to Python's standard library."""
    path = os.path.abspath(file)
    return path.startswith(_LIBRARY) and not _is_installed(path)


@cache
def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of an instruction (``frame.f_lasti``) in a code object."""
    at = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
    return next(at, code.co_firstlineno)


def user_location(traceback: TracebackType | None) -> tuple[str, int]:
    """Return file and line of the innermost user frame in a traceback; ("", 0) if there is none."""
    location = ("", 0)
    while traceback is not None:
        if is_users(traceback.tb_frame.f_code):
            location = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return location


@cache
def source_of(file: str) -> str:
    """Return the text of a Python file; empty if it cannot be read."""
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


@cache
def statement_starts(source: str) -> dict[int, int]:
    """Return, for each line of a program, the first line of the statement (or of its head) that contains the line."""
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

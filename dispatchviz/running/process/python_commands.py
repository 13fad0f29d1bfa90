"""Command lines that start Python: which program they run, and the same command line with a program of ours in front.

``python -u -W error train.py --lr 1`` becomes ``python -u -W error RUNNER SETTINGS train.py --lr 1``: Python's own
options stay, and the runner gets the program and its arguments as they were.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

Word = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""A word of a command line, as ``subprocess`` takes it."""

HELPERS = ("multiprocessing.resource_tracker", "compile_worker")
"""Modules of processes that run no code of the program: they serve ``multiprocessing`` and ``torch.compile``."""
FORK_SERVER = "multiprocessing.forkserver"
"""The module of a process that forks others, which run code of the program."""

_WITH_VALUE = frozenset("WX")
_ENDS = frozenset("cm")
_NO_PROGRAM = frozenset("Vh?S")
"""Options with which Python runs no program, or finds no installed package."""


def is_helper(words: Sequence[Word]) -> bool:
    """Return whether a command line starts a process that runs no code of the program."""
    return any(_names(words, helper) for helper in HELPERS)


def is_fork_server(words: Sequence[Word]) -> bool:
    """Return whether a command line starts the process that forks others for ``multiprocessing``."""
    return _names(words, FORK_SERVER)


def _names(words: Sequence[Word], module: str) -> bool:
    return any(module in os.fsdecode(word) for word in words[1:])


def python_of(executables: Sequence[Word]) -> tuple[str, str] | None:
    """Return this Python's executable and the script that it runs, if an executable is this Python (the script is
    empty) or a script that names it in its first line (``torchrun``). ``executables`` are the places that are tried in
    order.
    """
    found = next((path for one in executables if os.access(path := os.fsdecode(one), os.X_OK)), None)
    if found is None:
        return None
    if _is_this_python(found):
        return found, ""
    interpreter = _interpreter(found)
    return (interpreter, found) if interpreter and _is_this_python(interpreter) else None


def _is_this_python(path: str) -> bool:
    folder, name = os.path.split(os.path.abspath(path))
    return name.startswith("python") and folder == os.path.dirname(os.path.abspath(sys.executable))


def _interpreter(script: str) -> str:
    """Return the interpreter in the first line of a script; empty if there is none, or if it is given options."""
    try:
        with open(script, "rb") as file:
            first = file.readline(512)
    except OSError:
        return ""
    words = first[2:].split() if first.startswith(b"#!") else []
    return os.fsdecode(words[0]) if len(words) == 1 else ""


def with_runner(words: Sequence[Word], runner: Sequence[str]) -> list[str] | None:
    """Return a command line of Python that runs a program through a runner. Return None if it runs no program, reads it
    from standard input, or does not find installed packages.
    """
    texts = [os.fsdecode(word) for word in words]
    at = 1
    while at < len(texts):
        word = texts[at]
        if word == "-" or word.startswith("--"):
            return None
        if not word.startswith("-"):
            return [*texts[:at], *runner, *texts[at:]]
        kind, used = _option(word)
        if _NO_PROGRAM.intersection(word[: used + 1]):
            return None
        if kind in _ENDS:
            before = [word[:used]] if used > 1 else []
            value = [word[used + 1 :]] if word[used + 1 :] else texts[at + 1 : at + 2]
            rest = texts[at + 1 if word[used + 1 :] else at + 2 :]
            return [*texts[:at], *before, *runner, f"-{kind}", *value, *rest] if value else None
        at += 2 if kind in _WITH_VALUE and not word[used + 1 :] else 1
    return None


def _option(word: str) -> tuple[str, int]:
    """Return the letter in a word like ``-uc`` that takes a value or ends the options, and its place; the last letter
    if there is none.
    """
    return next(((one, at) for at, one in _letters(word) if one in _WITH_VALUE | _ENDS), (word[-1], len(word) - 1))


def _letters(word: str) -> Iterator[tuple[int, str]]:
    return ((at, letter) for at, letter in enumerate(word) if at)

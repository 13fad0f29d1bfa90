"""Processes that a program begins.

A forked child continues without being recorded, and a process that begins anew (``subprocess``, ``multiprocessing`` by
spawn or forkserver, ``os.exec``) is not recorded either, unless ``relatives.py`` records it. With
``for_children/sitecustomize.py``, a new process finds the model when it imports torch.
"""

from __future__ import annotations

import _thread
import importlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dispatchviz.core.record.worker import resume_all
from dispatchviz.running.process.python_commands import is_helper

T = TypeVar("T")

_posixsubprocess: Any = importlib.import_module("_posixsubprocess")

_FOLDER = str(Path(__file__).parent / "for_children")


Instead = Callable[[Any, Any], tuple[Any, Any] | None]


class Family:
    """The relatives of this process: whether it is a child that the program forked, and the children that it forked or
    began.
    """

    def __init__(
        self,
        in_child: Callable[[], None],
        forked: Callable[[int], None],
        begun: Callable[[int], object] = id,
        instead: Instead = lambda args, executables: None,
        records_forks: bool = False,
    ) -> None:
        self.is_child = False
        self.in_child = in_child
        """The function that is called in a forked child before anything else runs there."""
        self.forked = forked
        """The function that is called in the parent with the child's number."""
        self.begun = begun
        """The same for a child that is a new Python (``subprocess``, ``multiprocessing`` by spawn)."""
        self.instead = instead
        """A function that returns the command line and the executables of a new process that records itself, or None to
        start it as it is.
        """
        self.records_forks = records_forks
        """True if forked children are recorded, and therefore their own forked children too."""


_running: list[Family] = []
"""The families of the running program and of a recording within it."""


@contextmanager
def in_family(family: Family) -> Iterator[None]:
    """Notice the program's children inside the block."""
    fork, pty_fork = os.fork, os.forkpty

    def forked(number: int) -> int:
        _notify_parent(family, number)
        return number

    def forked_with_terminal(found: tuple[int, int]) -> tuple[int, int]:
        _notify_parent(family, found[0])
        return found

    _running.append(family)
    vars(os).update(fork=_followed(fork, forked), forkpty=_followed(pty_fork, forked_with_terminal))
    try:
        with _new_pythons_noticed(family):
            yield
    finally:
        vars(os).update(fork=fork, forkpty=pty_fork)
        _running.remove(family)


@contextmanager
def _new_pythons_noticed(family: Family) -> Iterator[None]:
    """Call ``family.begun`` for each process that starts Python's executable, inside the block.

    ``multiprocessing`` calls the function of ``_posixsubprocess``; ``subprocess`` has a name of its own for it.
    """
    before = [
        (module, name)
        for module, name in ((_posixsubprocess, "fork_exec"), (subprocess, "_fork_exec"))
        if hasattr(module, name)
    ]
    original = _posixsubprocess.fork_exec

    def fork_exec(args: Any, executables: Any, *rest: Any) -> int:
        instead, thread = family.instead(args, executables), _thread.get_ident()
        _starting.add(thread)
        try:
            number: int = original(*(instead or (args, executables)), *rest)
        finally:
            _starting.discard(thread)
        if instead is None and not family.is_child and _is_python(args, executables):
            family.begun(number)
        return number

    for module, name in before:
        setattr(module, name, fork_exec)
    try:
        yield
    finally:
        for module, name in before:
            setattr(module, name, original)


_starting: set[int] = set()
"""The threads that are starting another program. The child runs Python code only for ``preexec_fn``."""


def starts_another() -> bool:
    """Return whether this process is a forked child that is about to become another program."""
    return _thread.get_ident() in _starting


def _is_python(args: Any, executables: Any) -> bool:
    """Return whether a new process is a Python that runs code of the program."""
    named = [os.path.basename(os.fsdecode(one)) for one in [*args[:1], *executables[:1]]]
    return any(one.startswith("python") for one in named) and not is_helper(args)


def _followed(function: Callable[[], T], then: Callable[[T], T]) -> Callable[[], T]:
    """Return a function that calls one function after the other, without a Python frame in between. If threads run,
    Python 3.12 and later warn of a fork and name the calling line.
    """
    return map(then, iter(function, object())).__next__


def _notify_parent(family: Family, number: int) -> None:
    if number:
        resume_all()
        if not family.is_child and not family.records_forks:
            family.forked(number)


@contextmanager
def model_on_the_path() -> Iterator[None]:
    """Let new processes find the model inside the block."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = _FOLDER if not before else _FOLDER + os.pathsep + before
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = before


def _in_child() -> None:
    for family in reversed(_running):
        if not family.is_child or family.records_forks:
            family.is_child = True
            family.in_child()


os.register_at_fork(after_in_child=_in_child)

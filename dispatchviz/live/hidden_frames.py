"""Tracebacks that a recorded program, one of its threads or pytest prints: they leave out the frames of dispatchviz."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from types import CodeType, FrameType, ModuleType
from typing import Any

from dispatchviz.foundation.plain_tracebacks import replaced_in_tracebacks
from dispatchviz.running.call_sites import Base, is_base, is_users
from dispatchviz.running.process.tracebacks import without_our_frames

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep

_WALKERS = ("walk_tb", "_walk_tb_with_full_positions")
"""Functions of the module ``traceback``. Each yields pairs that begin with a frame."""

_ON_TRACEBACKS = ("dispatchviz.live.", "dispatchviz.running.", "dispatchviz.core.record.", "dispatchviz.core.seam.")
"""The beginnings of the names of our modules whose functions call the program or PyTorch."""

_MARK = "__tracebackhide__"
"""The variable of a module by which pytest leaves out its frames."""


@contextmanager
def our_frames_hidden(base: Base) -> Iterator[None]:
    """Hide our frames in tracebacks inside the block. Frames above ``base`` on the stack do not belong to the program
    either.
    """
    originals = {name: vars(traceback)[name] for name in (*_WALKERS, "walk_stack") if name in vars(traceback)}
    hook = threading.excepthook

    def threads_hook(args: Any, /) -> None:
        if args.exc_value is not None:
            without_our_frames(args.exc_value)
            args = threading.ExceptHookArgs((args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread))
        hook(args)

    ours: dict[str, Any] = {name: _without_ours(originals[name]) for name in _WALKERS if name in originals}
    ours["walk_stack"] = _of_program(originals["walk_stack"], base)
    threading.excepthook = threads_hook
    try:
        with replaced_in_tracebacks(ours), _hidden_from_pytest():
            yield
    finally:
        if threading.excepthook is threads_hook:
            threading.excepthook = hook


@contextmanager
def _hidden_from_pytest() -> Iterator[None]:
    """Let pytest leave out our frames in its reports of failed tests, inside the block."""
    loaded = [module for name, module in list(sys.modules.items()) if name.startswith(_ON_TRACEBACKS)]
    spaces = [vars(module) for module in loaded if type(module) is ModuleType and _MARK not in vars(module)]
    for space in spaces:
        space[_MARK] = True
    try:
        yield
    finally:
        for space in spaces:
            space.pop(_MARK, None)


def _without_ours(walk: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    """Return a function that leaves out our frames. The first one stays: a traceback that begins with a frame of ours
    is read by a tool that wants this frame.
    """

    def walker(*args: Any, **kwargs: Any) -> Iterator[Any]:
        return (pair for at, pair in enumerate(walk(*args, **kwargs)) if not at or not _is_ours(pair[0].f_code))

    return walker


def _of_program(walk: Callable[..., Iterable[Any]], base: Base) -> Callable[..., Iterable[Any]]:
    def walk_stack(f: FrameType | None) -> Iterable[Any]:
        if f is None:
            return walk(f)
        pairs = takewhile(lambda pair: not is_base(pair[0], base), walk(f))
        return (pair for pair in pairs if not _is_ours(pair[0].f_code))

    return walk_stack


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_PACKAGE) and not is_users(code)

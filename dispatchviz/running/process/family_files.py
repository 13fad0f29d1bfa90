"""The trace files of the processes that one program starts: ``train.dvtrace``, ``train.rank1.dvtrace``,
``train.rank1.worker0.dvtrace``.

A process learns its name while it runs: its rank when it first calls ``torch.distributed``, its number as a worker of a
DataLoader when that begins.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import time
from collections.abc import Callable
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from dispatchviz.core.record.trace_file.header import Process
from dispatchviz.core.record.trace_file.writers import suffix_of
from dispatchviz.core.record.unfinished_files import is_being_written

MAIN = "main"
"""The name of the first process."""

_NAME = re.compile(r"(rank|worker|process)\d+(-\d+)?(\.(worker|process|part-)\d+(-\d+)?)*")
"""The part of a file's name that distinguishes a process."""


class Lineage(msgspec.Struct, frozen=True):
    """The facts that a process inherits from the one that started it."""

    base: str
    """The path of the trace of the first process."""
    name: str = ""
    """The name of the process that started this one; empty for the first process."""
    parent: int = 0
    """Its number."""
    launch: str = ""
    """The text that all processes of the run have in common."""


class FamilyFile:
    """The name of this process, and that of its trace file."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._launch = lineage.launch or os.environ.get("TORCHELASTIC_RUN_ID") or f"{os.getpid()}-{time.time_ns()}"
        self._began = time.time_ns()
        self.rank = _rank_in(lineage.name) if rank_here() is None else rank_here()
        """The rank of this process; None if it has none, or if it is not known yet."""

    @property
    def process(self) -> Process:
        """The process, for the header of its trace."""
        of, name = self._lineage, self._distinct_name()
        return Process(name=name, number=os.getpid(), parent=of.parent, began=self._began, launch=self._launch)

    @property
    def name(self) -> str:
        """The name of this process among those of the program."""
        of, own = self._lineage.name, self._own_name()
        return own if of in ("", MAIN) or own.startswith("rank") else f"{of}.{own}"

    def _own_name(self) -> str:
        is_child = bool(self._lineage.parent)
        worker = worker_here() if is_child else None
        if worker is not None:
            return f"worker{worker}"
        if self.rank is not None and not self._lineage.name.startswith("rank"):
            return f"rank{self.rank}"
        return f"process{os.getpid()}" if is_child else MAIN

    def path(self) -> str:
        """Return the path of its trace file."""
        return self._path(self._distinct_name())

    def _path(self, name: str) -> str:
        stem, suffix = split(self._lineage.base)
        return self._lineage.base if name == MAIN else f"{stem}.{name}{suffix}"

    def _distinct_name(self) -> str:
        """Return the name, with a number if another process of this run has it and a complete trace: ``worker0-2``."""
        name = self.name
        names = (name if at == 1 else f"{name}-{at}" for at in count(1))
        return next(one for one in names if one == MAIN or not os.path.exists(self._path(one)))

    @property
    def base(self) -> str:
        """The path of the trace of the first process."""
        return self._lineage.base

    def for_children(self) -> Lineage:
        """Return the facts that a process inherits which this one starts."""
        return self.lineage_from(os.getpid())

    def lineage_from(self, parent: int) -> Lineage:
        """Return the same facts, in a forked child whose parent has this number."""
        return Lineage(self._lineage.base, self.name, parent, self._launch)

    def remove_last_run(self) -> None:
        """Remove the traces that this process and its children left in an earlier run."""
        stem, suffix = split(self._lineage.base)
        own = "" if self.name == MAIN else self.name
        for file in glob.glob(f"{glob.escape(stem)}.{own}*{suffix}"):
            name = file[len(stem) + 1 : -len(suffix)]
            is_own = not own or name == own or name.startswith((f"{own}.", f"{own}-"))
            if is_own and _NAME.fullmatch(name) and not is_being_written(file):
                Path(file).unlink(missing_ok=True)


def split(base: str) -> tuple[str, str]:
    """Return the path of a trace without its suffix, and the suffix."""
    suffix = suffix_of(base)
    return base.removesuffix(suffix), suffix


def of_process(path: str, name: str) -> str:
    """Return the path of a file with the name of a process before its suffix: ``graph.rank1.svg``."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}.{name}{suffix}" if name else path


def files_of_run(base: str) -> list[str]:
    """Return the traces of the processes of a run by name, given the path of the first one's: first that one, if there
    is one, then the others in the order of their numbers.
    """
    stem, suffix = split(base)
    others = [file for file in glob.glob(f"{glob.escape(stem)}.*{suffix}") if _is_of(file, stem, suffix)]
    return [*([base] if os.path.exists(base) else ()), *sorted(others, key=_by_numbers)]


def _is_of(file: str, stem: str, suffix: str) -> bool:
    return bool(_NAME.fullmatch(file[len(stem) + 1 : -len(suffix)]))


def _by_numbers(file: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``rank10`` after ``rank2``."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", file)]


def _rank_in(name: str) -> int | None:
    """Return the rank in the name of a process, or None."""
    found = re.match(r"rank(\d+)", name)
    return int(found[1]) if found else None


def is_one_of_several() -> bool:
    """Return whether a launcher such as ``torchrun`` started this process as one of several ranks."""
    world = os.environ.get("WORLD_SIZE", "")
    return "RANK" in os.environ and world.isdecimal() and int(world) > 1


def rank_here() -> int | None:
    """Return the rank of this process, if a launcher or ``torch.distributed`` has given it one."""
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else None


def worker_here() -> int | None:
    """Return the number of this process among the workers of a DataLoader, or None.

    ``get_worker_info()`` is None again at the end of a worker, when its trace is named.
    """
    workers = sys.modules.get("torch.utils.data._utils.worker")
    if workers is None:
        return None
    from multiprocessing import current_process  # loaded by then, and slow to load

    process: Any = current_process()
    loop: Callable[..., Any] = workers._worker_loop
    if getattr(process, "_target", None) is not loop:
        return None
    given = signature(loop).bind(*process._args, **process._kwargs)
    return int(given.arguments["worker_id"])

"""A dispatch log as lines: a step a line, a blank a level, below ``@8`` the steps of line 8 of the program.

    @8
     sum AutogradCPU.5f0
      > CPU.c21
       sum.dim_IntList CPU.c21
    in SumBackward0
     expand AutogradCPU.5f0

A step names its operator, without ``aten::``, and how it was dispatched: ``CPU.c21`` is a highest key, a raw key set
and the thread's included and excluded sets, which a table lists. ``>`` marks a redispatch; it has the operator of the
call around it where it names none. Below ``in NAME`` the engine evaluates that Node, below ``in -`` none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

Step = list[Any]
"""depth, line, operator, key, key set, included, excluded, ``call`` or ``redispatch``, Node being evaluated."""

Sets = tuple[str, int, int, int]
"""Highest key, raw key set, included and excluded set of the thread."""

DIGITS = 3
"""Of the hash in a name; more where two names would be the same."""


class SetNames:
    """Short names of what steps were dispatched with, and the table that explains them.

    A name depends on nothing but what it names: the same sets are called the same in all files.
    """

    def __init__(self) -> None:
        self._names: dict[Sets, str] = {}
        self._known: dict[str, Sets] = {}

    def name(self, sets: Sets) -> str:
        """``CPU.c21``"""
        if sets not in self._names:
            name = self._free_name(sets)
            self._names[sets], self._known[name] = name, sets
        return self._names[sets]

    def _free_name(self, sets: Sets) -> str:
        digest = hashlib.sha256(" ".join(map(str, sets)).encode()).hexdigest()
        names = (f"{sets[0]}.{digest[:digits]}" for digits in range(DIGITS, len(digest)))
        return next(name for name in names if name not in self._known)

    def table(self) -> Iterator[str]:
        """A line a name: ``CPU.c21 0x10001 0x404000000 0x1ff8000000000``."""
        for name in sorted(self._known):
            yield " ".join((name, *map(hex, self._known[name][1:])))


def read_table(lines: Iterable[str]) -> dict[str, Sets]:
    """Name to what it represents."""
    found = {}
    for line in lines:
        name, *sets = line.split(" ")
        found[name] = (name.partition(".")[0], int(sets[0], 16), int(sets[1], 16), int(sets[2], 16))
    return found


def log_lines(log: list[Step], names: SetNames) -> Iterator[str]:
    """The lines of a log."""
    at: int | None = None
    node: str | None = None
    open_: dict[int, str] = {}
    for depth, line, operator, key, keys, included, excluded, how, evaluated in log:
        if line != at:
            at = line
            yield f"@{line}"
        if evaluated != node:
            node = evaluated
            yield f"in {node or '-'}"
        short = operator.removeprefix("aten::")
        mark = ""
        if how == "redispatch":
            mark, short = ">", "" if open_.get(depth - 1) == operator else short
        open_[depth] = operator
        yield f" {' ' * depth}{mark}{short} {names.name((key, keys, included, excluded))}"


def read_log(lines: Iterable[str], table: dict[str, Sets]) -> list[Step]:
    """The steps of those lines."""
    log: list[Step] = []
    at, node = 0, None
    open_: dict[int, str] = {}
    for line in lines:
        if line[0] == "@":
            at = int(line[1:])
        elif line[0] == "i":
            node = None if line == "in -" else line[3:]
        else:
            operator, _, sets = line.lstrip(" ").partition(" ")
            depth = line.index(operator or " ", 1) - 1
            how = "redispatch" if operator[0] == ">" else "call"
            short = operator.removeprefix(">")
            full = short if "::" in short else f"aten::{short}" if short else open_[depth - 1]
            open_[depth] = full
            log.append([depth, at, full, *table[sets], how, node])
    return log


def calls(log: list[Step]) -> list[list[Any]]:
    """The calls of a log without the redispatches, as the profiler would show them."""
    found: list[list[Any]] = []
    redispatches = [0]
    for depth, _, operator, _, _, _, _, how, _ in log:
        del redispatches[depth + 1 :]
        redispatches.append(redispatches[-1] + (how == "redispatch"))
        if how == "call":
            found.append([depth - redispatches[-1], operator])
    return found

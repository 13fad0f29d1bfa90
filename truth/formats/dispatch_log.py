"""A dispatch log as lines: one call per line, indented by level, below ``@8`` the calls of line 8 of the program.

    @8
     sum AutogradCPU.5f0 > CPU.c21 (sum.dim_IntList CPU.c21 (as_strided CPU.c21; fill_.Scalar CPU.c21))
    in SumBackward0
     expand AutogradCPU.5f0

A step names its operator, without ``aten::``, and how it was dispatched. ``CPU.c21`` stands for a highest key, a raw
key set and the thread-local include and exclude sets, which a table lists. ``>`` marks a redispatch. It has the
operator of the call around it if it names none, and follows that call on its line if nothing else is within. Calls
within a step are in parentheses behind it, or below it if that is too long. ``× 3`` repeats a line. Below ``in NAME``
the engine evaluates that Node, below ``in -`` none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

Step = list[Any]
"""The fields of a step: depth, line, operator, key, key set, included, excluded, ``call`` or ``redispatch``, Node being
evaluated.
"""

Sets = tuple[str, int, int, int]
"""The highest key, the raw key set, and the thread-local include and exclude sets."""

DIGITS = 3
"""The number of digits of the hash in a name; it has more if two names would be equal."""


class SetNames:
    """Short names of key sets, and the table that explains them.

    A name depends only on the sets that it stands for, so the same sets have the same name in all files.
    """

    def __init__(self) -> None:
        self._names: dict[Sets, str] = {}
        self._known: dict[str, Sets] = {}

    def name(self, sets: Sets) -> str:
        """The name of sets, such as ``CPU.c21``."""
        if sets not in self._names:
            name = self._free_name(sets)
            self._names[sets], self._known[name] = name, sets
        return self._names[sets]

    def _free_name(self, sets: Sets) -> str:
        digest = hashlib.sha256(" ".join(map(str, sets)).encode()).hexdigest()
        names = (f"{sets[0]}.{digest[:digits]}" for digits in range(DIGITS, len(digest)))
        return next(name for name in names if name not in self._known)

    def table(self) -> Iterator[str]:
        """Yield one line per name: ``CPU.c21 0x10001 0x404000000 0x1ff8000000000``."""
        for name in sorted(self._known):
            yield " ".join((name, *map(hex, self._known[name][1:])))


def read_table(lines: Iterable[str]) -> dict[str, Sets]:
    """The sets by name."""
    found = {}
    for line in lines:
        name, *sets = line.split(" ")
        found[name] = (name.partition(".")[0], int(sets[0], 16), int(sets[1], 16), int(sets[2], 16))
    return found


WIDTH = 120
"""The width of a line: a call that fits is on one line, with all calls within it."""

MOST_STEPS = 20
"""The largest number of steps on a line."""


def log_lines(log: list[Step], names: SetNames) -> Iterator[str]:
    """The lines of a log."""
    for line, same in groupby(_lines(log, names)):
        count = len(list(same))
        yield f"{line} × {count}" if count > 1 else line


def _lines(log: list[Step], names: SetNames) -> Iterator[str]:
    """The lines before equal ones are combined."""
    at: int | None = None
    node: str | None = None
    texts, first = _step_texts(log, names), 0
    while first < len(log):
        depth, line, *_, evaluated = log[first]
        if line != at:
            at = line
            yield f"@{line}"
        if evaluated != node:
            node = evaluated
            yield f"in {node or '-'}"
        whole, end = _call_text(log, texts, first)
        if not whole or depth + len(whole) >= WIDTH:
            end = _chain_end(log, first)
            whole = " ".join(texts[first:end])
        yield f" {' ' * depth}{whole}"
        first = end


def _step_texts(log: list[Step], names: SetNames) -> list[str]:
    """The text of each step, such as ``sum CPU.c21`` or ``> CPU.c21``."""
    found = []
    open_: dict[int, str] = {}
    for depth, _, operator, key, keys, included, excluded, how, _ in log:
        short = operator.removeprefix("aten::")
        mark = ""
        if how == "redispatch":
            mark, short = ">", "" if open_.get(depth - 1) == operator else short
        open_[depth] = operator
        found.append(f"{mark}{short} {names.name((key, keys, included, excluded))}")
    return found


def _chain_end(log: list[Step], first: int) -> int:
    """The end of a step and the redispatches that follow it, if each is the only step within the one before."""
    end = first + 1
    while end < len(log) and _goes_on(log, end) and _end(log, end) == _end(log, end - 1):
        end += 1
    return end


def _goes_on(log: list[Step], at: int) -> bool:
    """Return whether a step is a redispatch by the step before it, on the same line and in the same Node."""
    before, step = log[at - 1], log[at]
    return bool(step[7] == "redispatch" and step[0] == before[0] + 1 and _place(step) == _place(before))


def _place(step: Step) -> tuple[int, str | None]:
    return step[1], step[8]


def _end(log: list[Step], first: int) -> int:
    """The end of a step and of all steps within it."""
    end = first + 1
    while end < len(log) and log[end][0] > log[first][0]:
        end += 1
    return end


def _call_text(log: list[Step], texts: list[str], first: int) -> tuple[str, int]:
    """A step with all steps within it as one text, and their end. The text is empty if they are too many, or on several
    lines or in several Nodes.

    ``to.dtype CPU.1 (_to_copy BackendSelect.2 > CPU.1; copy_ CPU.1)``
    """
    end = _chain_end(log, first)
    text = " ".join(texts[first:end])
    depth, parts = log[end - 1][0] + 1, list[str]()
    while end < len(log) and log[end][0] >= depth:
        if log[end][0] > depth or _place(log[end]) != _place(log[first]) or end - first > MOST_STEPS:
            return "", end
        part, end = _call_text(log, texts, end)
        if not part:
            return "", end
        parts.append(part)
    return f"{text} ({'; '.join(parts)})" if parts else text, end


_TOKENS = re.compile(r"[();]|(>[^\s();]*|[^\s();>]+) ([^\s();]+)")


def read_log(lines: Iterable[str], table: dict[str, Sets]) -> list[Step]:
    """The steps of the given lines."""
    log: list[Step] = []
    at, node = 0, None
    open_: dict[int, str] = {}
    for line in lines:
        if line[0] == "@":
            at = int(line[1:])
        elif line[0] == "i":
            node = None if line == "in -" else line[3:]
        else:
            call, _, count = line.partition(" × ")
            for depth, operator, sets in int(count or 1) * [*_read_calls(call)]:
                how = "redispatch" if operator[:1] == ">" else "call"
                short = operator.removeprefix(">")
                full = short if "::" in short else f"aten::{short}" if short else open_[depth - 1]
                open_[depth] = full
                log.append([depth, at, full, *table[sets], how, node])
    return log


def _read_calls(line: str) -> Iterator[tuple[int, str, str]]:
    """Yield depth, operator and name of the sets of each step on a line."""
    text = line.lstrip(" ")
    depth = len(line) - len(text) - 1
    around = list[int]()
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "(":
                around.append(depth)
            case ";":
                depth = around[-1]
            case ")":
                around.pop()
            case _:
                yield depth, token[1], token[2]
                depth += 1


def calls(log: list[Step]) -> list[list[Any]]:
    """The calls of a log without the redispatches, as the profiler shows them."""
    found: list[list[Any]] = []
    redispatches = [0]
    for depth, _, operator, _, _, _, _, how, _ in log:
        del redispatches[depth + 1 :]
        redispatches.append(redispatches[-1] + (how == "redispatch"))
        if how == "call":
            found.append([depth - redispatches[-1], operator])
    return found

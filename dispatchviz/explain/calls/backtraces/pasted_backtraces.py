"""Backtraces as people paste them: the output of ``bt`` and ``bt full`` in gdb, and of ``bt`` in lldb."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dispatchviz.explain.calls.backtraces.function_roles import NO_NAME
from dispatchviz.explain.calls.backtraces.native_frames import RawFrame, RawSet
from dispatchviz.foundation.errors import DispatchvizError


class Backtrace(Struct, frozen=True):
    """One stack of a text."""

    heading: str
    """The line that names its thread; empty if there is none."""
    frames: tuple[RawFrame, ...]
    """The frames, innermost first, as debuggers print them."""


_GDB = re.compile(r"[\s>|]*#(\d+)\s+(?:(0x[0-9a-fA-F]+)\s+in\s+)?(.*)")
_LLDB = re.compile(r"[\s*>|]*frame #(\d+):\s+(0x[0-9a-fA-F]+)\s+(.*)")
_THREAD = re.compile(r"\s*(Thread \d+ \(.*\):?|\* thread #\d+.*|  thread #\d+.*)")

_AT = re.compile(r"^(.*\S)\s+at\s+(\S.*?):(\d+)(?::\d+)?(?:\s+\[[\w ]+\])*$", re.DOTALL)
_FROM = re.compile(r"^(.*\S)\s+from\s+(\S.*)$", re.DOTALL)
_OFFSET = re.compile(r"\s\+\s\d+$")
_MARKS = re.compile(r"(?:\s+\[(?:opt|inlined|artificial)\])+$|^\[inlined\]\s+")

_SET = re.compile(
    r"([\w.]*?)\s*=\s*[{(]\s*(?:static [^,]*,\s*)*repr_\s*=\s*(0x[0-9a-fA-F]+|\d+)"
    r"|\b(ks|\w*[kK]ey_?[sS]et\w*)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b"
    r"|^\s*()repr_\s*=\s*(0x[0-9a-fA-F]+|\d+)",
    re.MULTILINE,
)
"""A key set among arguments or variables: ``ks=(repr_ = 32769)``, ``dispatchKeySet = {repr_ = 0x8001}``."""


def read_backtraces(text: str) -> tuple[Backtrace, ...]:
    """Find all stacks in a text and ignore everything else in it. Raise DispatchvizError if there is none."""
    found = tuple(_backtraces(text.splitlines()))
    if not found:
        raise DispatchvizError(
            "no backtrace found: frames begin with #0 in gdb and with frame #0 in lldb (type bt there)"
        )
    return found


def _backtraces(lines: Sequence[str]) -> Iterator[Backtrace]:
    heading, frames = "", list[RawFrame]()
    for block in _blocks(lines):
        frame = _frame(block)
        if (frame is None or frame.number == 0) and frames:
            yield Backtrace(heading, tuple(frames))
            heading, frames = "", []
        if frame is None:
            heading = block[0].strip().removesuffix(":")
        else:
            frames.append(frame)
    if frames:
        yield Backtrace(heading, tuple(frames))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield each frame with the lines that belong to it, and each line that names a thread."""
    block: list[str] = []
    for line in lines:
        if _THREAD.match(line) or _GDB.match(line) or _LLDB.match(line):
            if block:
                yield block
            block = [line]
        elif block and line[:1].isspace() and line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _frame(block: Sequence[str]) -> RawFrame | None:
    """The frame in a block of lines; None for the name of a thread."""
    if found := _LLDB.match(block[0]):
        return _lldbs(int(found[1]), found[3], block[1:])
    if found := _GDB.match(block[0]):
        head, rest = _head(found[3], block[1:])
        return _gdbs(int(found[1]), head, rest)
    return None


def _head(first: str, more: Sequence[str]) -> tuple[str, list[str]]:
    """A frame's own text, which gdb breaks at the end of a line, and the variables of ``bt full`` behind it."""
    head, at = first, 0
    while at < len(more) and (_depth(head) > 0 or re.match(r"\s+(?:at|from|\() ?\S", more[at])):
        head, at = f"{head} {more[at].strip()}", at + 1
    return head.strip(), list(more[at:])


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


def _gdbs(number: int, head: str, more: Sequence[str]) -> RawFrame:
    body, file, line, library = head, "", 0, ""
    if found := _AT.match(body):
        body, file, line = found[1], found[2], int(found[3])
    elif found := _FROM.match(body):
        body, library = found[1], _last(found[2])
    function, arguments = _split(body)
    return RawFrame(_named(function), library, file, line, number, _sets([arguments, *more]))


def _split(body: str) -> tuple[str, str]:
    """The function and the arguments: gdb's last pair of brackets, which follows a blank."""
    if not body.endswith(")"):
        return body, ""
    depth = 0
    for at in range(len(body) - 1, -1, -1):
        depth += (body[at] == ")") - (body[at] == "(")
        if depth == 0:
            break
    return (body[:at].rstrip(), body[at + 1 : -1]) if body[:at].endswith(" ") else (body, "")


def _lldbs(number: int, rest: str, more: Sequence[str]) -> RawFrame:
    library, _, body = rest.rpartition("`") if "`" not in rest else _partitioned(rest)
    file, line = "", 0
    if found := _AT.match(body):
        body, file, line = found[1], found[2], int(found[3])
    body = _MARKS.sub("", _MARKS.sub("", _OFFSET.sub("", _MARKS.sub("", body))))
    arguments = "=" in body.rpartition("(")[2] or "=" in body
    sets = _sets([body, *more]) if arguments else _sets(more)
    return RawFrame(_named(_without_values(body)), _last(library), file, line, number, sets)


def _partitioned(rest: str) -> tuple[str, str, str]:
    return rest.partition("`")


def _without_values(body: str) -> str:
    """A function without the last pair of brackets, if that has the values of arguments: ``f(self=0x1)``."""
    if not body.endswith(")"):
        return body
    depth = 0
    for at in range(len(body) - 1, -1, -1):
        depth += (body[at] == ")") - (body[at] == "(")
        if depth == 0:
            return body[:at] if re.match(r"\w+=", body[at + 1 :]) else body
    return body


def _named(function: str) -> str:
    return "" if function == NO_NAME or function.startswith("___lldb_unnamed_symbol") else function


def _last(path: str) -> str:
    return path.strip().rpartition("/")[2]


def _sets(parts: Sequence[str]) -> tuple[RawSet, ...]:
    """The set of each argument, once: ``bt full`` may print a variable again."""
    found = [_set(each) for part in parts for each in _SET.finditer(part)]
    return tuple(dict.fromkeys(found))


def _set(found: re.Match[str]) -> RawSet:
    name, number = next((found[at], found[at + 1]) for at in (1, 3, 5) if found[at + 1] is not None)
    return RawSet(name.rpartition(".")[2] or "DispatchKeySet", int(number, 0))

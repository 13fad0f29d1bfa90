"""Answer files: a teacher's expectations of a log, written by hand, one per line.

    # Homework 2: a product and its gradient
    call aten::mul.Tensor AutogradCPU
      node Mul
      redispatch aten::mul.Tensor CPU
      never: error
    backward
      run Mul
      accumulate stolen
    at most 1 times: call aten::sum
    graph: Sum → Mul → AccumulateGrad(x)
    no copy in accumulate                    # the gradient is stolen

Lines of a log (``log_lines.py``) must happen in this order, and other steps may come between them. An indented line
must happen within the line above it. A colon follows a count, or the name of a function of ``trace_texts.py``. Lines of
a golden log can be pasted. ``marking.py`` compares a trace with the file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.testing.accumulation import no_copy_in_accumulate
from dispatchviz.testing.log_lines import FORMS, pattern_of
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.saved_memory import saved_bytes
from dispatchviz.testing.trace_texts import graph, hook_order, keys, node_order, saved


class Bounds(NamedTuple):
    """The allowed number of matches of a pattern."""

    least: int
    most: int | None

    def hold(self, count: int) -> bool:
        """Return whether a count is within the bounds."""
        return self.least <= count and (self.most is None or count <= self.most)


class Line(Struct):
    """One expectation."""

    number: int
    text: str
    """The line as written, with its indentation."""
    pattern: Pattern | None = None
    names: list[tuple[str, str]] = field(default_factory=list)
    """Kind and name of each name that the pattern cannot check."""
    bounds: Bounds | None = None
    """The bounds of a count; None if the line must happen after the one before."""
    question: Callable[[Trace], Any] | None = None
    """A question about the whole trace, instead of a pattern."""
    answer: Any = None
    inner: list[Line] = field(default_factory=list)
    """The lines that must happen within this one."""

    @property
    def indent(self) -> int:
        """The number of spaces before the line's text."""
        return len(self.text) - len(self.text.lstrip())


QUESTIONS: dict[str, Callable[[Trace], Any]] = {
    "graph": graph,
    "node order": node_order,
    "hook order": hook_order,
    "saved": saved,
    "saved bytes": saved_bytes,
}
"""The words before a colon, besides counts and ``keys OPERATOR``."""

NO_COPY = "no copy in accumulate"

_COMMENT = re.compile(r"(^|\s)#.*")
"""A comment; ``Mul#1`` is not one."""

_COUNT = re.compile(r"(?P<most>at most )?(?P<count>\d+) times?")
_NAMED = {"never": Bounds(0, 0), "once": Bounds(1, 1), "anywhere": Bounds(1, None)}


def read_expected(text: str, file: str) -> list[Line]:
    """Read the expectations of a file. Raise DispatchvizError, with the line, for one that is not understood."""
    top: list[Line] = []
    open_: list[Line] = []
    for number, written in enumerate(text.expandtabs().splitlines(), 1):
        row = _COMMENT.sub("", written).rstrip()
        if not row:
            continue
        try:
            line = _line(number, row)
            _place(line, open_, top)
        except ValueError as error:
            raise DispatchvizError(f"{file}, line {number}: {error}") from None
    if not top:
        raise DispatchvizError(f"{file} expects nothing: write a line such as `call aten::add.Tensor AutogradCPU`")
    return top


def every(lines: Iterable[Line]) -> list[Line]:
    """Return all lines, including those within others, in the order of the file."""
    return [each for line in lines for each in (line, *every(line.inner))]


def _place(line: Line, open_: list[Line], top: list[Line]) -> None:
    while open_ and open_[-1].indent >= line.indent:
        open_.pop()
    if line.question and open_:
        raise ValueError(f"{line.text.strip()!r} is about the whole log: do not indent it")
    (open_[-1].inner if open_ else top).append(line)
    if line.pattern and not line.bounds:
        open_.append(line)


def _line(number: int, row: str) -> Line:
    text = row.strip()
    if text == NO_COPY:
        return Line(number, row, question=no_copy_in_accumulate, answer=True)
    head, colon, rest = text.partition(": ")
    if not colon and not text.endswith(":"):
        return Line(number, row, *pattern_of(text))
    return _with_colon(number, row, head.removesuffix(":"), rest.strip())


def _with_colon(number: int, row: str, head: str, rest: str) -> Line:
    if bounds := _bounds(head):
        return Line(number, row, *pattern_of(rest or "..."), bounds)
    if head.startswith("keys "):
        operator = head.removeprefix("keys ").strip()
        return Line(
            number, row, names=[("operator", operator)], question=lambda trace: keys(trace, operator), answer=rest
        )
    if head not in QUESTIONS:
        raise ValueError(_unknown(head))
    return Line(number, row, question=QUESTIONS[head], answer=_number(head, rest) if head == "saved bytes" else rest)


def _bounds(head: str) -> Bounds | None:
    if head in _NAMED:
        return _NAMED[head]
    found = _COUNT.fullmatch(head)
    if found is None:
        return None
    count = int(found["count"])
    return Bounds(0 if found["most"] else count, count)


def _number(head: str, rest: str) -> int:
    plain = rest.replace(",", "")
    if not plain.isdecimal():
        raise ValueError(f"{head}: needs a number, not {rest!r}")
    return int(plain)


def _unknown(head: str) -> str:
    known: Sequence[str] = [*QUESTIONS, "keys OPERATOR", "never", "once", "anywhere", "3 times", "at most 3 times"]
    near = difflib.get_close_matches(head, known, 1) or difflib.get_close_matches(head, FORMS, 1)
    meant = f", did you mean {near[0]}?" if near else f"; a line with a colon begins with {', '.join(known)}"
    return f"there is no {head!r}{meant}"

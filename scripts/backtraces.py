"""A script that writes ``docs/lists/backtraces.md``: a debugger's stack in a released PyTorch beside our own frames.

    python -m scripts.backtraces            write the page
    python -m scripts.backtraces --check    write nothing; exit status 1 if the page is stale

The debugger's answers are a record (``truth/recorders/backtraces.py``).
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dispatchviz.explain.calls.call_stack import Frame
from dispatchviz.explain.calls.whole_stack import called_below, whole_stack
from dispatchviz.running.program import run
from truth import records
from truth.questions.backtraces import BEFORE, CASES, Case

PAGE = Path(__file__).parents[1] / "docs" / "lists" / "backtraces.md"

INTRODUCTION = """\
# Backtraces

Each table compares the stack that a debugger finds in PyTorch 2.14.1 (Linux on x86-64) with the
functions that `dispatchviz trace --stack STEP` shows for the same call, outermost first. A release build has fewer
frames than the source has calls, for two reasons. The compiler inlines functions into their callers. A function may
also jump to the last function that it calls, so that its own frame is gone. Every frame that the debugger finds is one
of ours, in the same order, except the few that are marked (`tests/explain/test_backtraces.py`). Written by
`python -m scripts.backtraces`.
"""

IN_HEADER = "inlined: its body is in a header"
LAMBDA = "inlined: a lambda"
JUMPED = "inlined, or left by a jump to the next function"
"""The reason why a function that is called has no frame."""

MORE = {
    "pybind11::": "templates of pybind11",
    "torch::jit::_get_operation_for_overload_or_packet": "a second overload of that name, only for packets",
    "at::native::randn": "a second overload of that name, with a generator",
}
"""The beginnings of frames that we do not show, with a description."""

Frames = Sequence[Sequence[str]]
"""The frames of a record: the name, and for an adapter the kernel that it calls."""


class Row(NamedTuple):
    """A frame of ours, of the debugger, or of both."""

    ours: Frame | None
    theirs: Sequence[str] | None

    @property
    def remark(self) -> str:
        """The page's text for the debugger's side; empty for a frame without a description."""
        if self.ours is None:
            assert self.theirs is not None
            return next(
                (f"not shown here: {why}" for start, why in MORE.items() if self.theirs[0].startswith(start)), ""
            )
        return "there" if self.theirs else _why_gone(self.ours)


def _why_gone(frame: Frame) -> str:
    if frame.title.endswith("{lambda}"):
        return LAMBDA
    return IN_HEADER if frame.file.endswith(".h") else JUMPED


def source(case: Case) -> str:
    """Return the program of a case. Its call is the last line."""
    return f"{BEFORE}{case.statement}\n"


def our_frames(case: Case) -> list[Frame]:
    """Return our frames in PyTorch, outermost first. Raise LookupError if the call never reaches the function."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(source(case), encoding="utf-8")
        trace = run(str(script), (), io.StringIO()).trace
    for step in range(len(trace)):
        frames = [*(around := whole_stack(trace, step)), *called_below(trace, step, around)]
        titles = [frame.title for frame in frames]
        if case.frame in titles and around[0].title == case.statement:
            return [frame for frame in frames[: titles.index(case.frame) + 1] if _is_pytorchs(frame)]
    raise LookupError(f"{case.statement} never comes to {case.frame}")


def _is_pytorchs(frame: Frame) -> bool:
    return frame.file.endswith((".h", ".cpp"))


def rows(ours: Sequence[Frame], theirs: Frames) -> list[Row]:
    """Return both lists as one, with as many common frames as there are."""
    common: list[list[int]] = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in reversed(range(len(ours))):
        for j in reversed(range(len(theirs))):
            same = is_same(ours, i, theirs[j])
            common[i][j] = common[i + 1][j + 1] + 1 if same else max(common[i + 1][j], common[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(ours) or j < len(theirs):
        if i < len(ours) and j < len(theirs) and is_same(ours, i, theirs[j]):
            found.append(Row(ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif j == len(theirs) or (i < len(ours) and common[i + 1][j] >= common[i][j + 1]):
            found.append(Row(ours[i], None))
            i += 1
        else:
            found.append(Row(None, theirs[j]))
            j += 1
    return found


def is_same(ours: Sequence[Frame], at: int, theirs: Sequence[str]) -> bool:
    """Return whether two frames are the same. Ours have no namespaces where a name is usually written without. For an
    adapter the kernel must be the same.
    """
    name, *kernel = theirs
    if not _ends_with(name, ours[at].title):
        return False
    called = next((frame.title for frame in ours[at:] if frame.role not in ADAPTS), "")
    return not kernel or _ends_with(kernel[0], called)


ADAPTS = ("adapter", "unboxing")
"""The roles of frames between the dispatcher and the kernel."""


def _ends_with(name: str, title: str) -> bool:
    return name == title or name.endswith(f"::{title}")


def page() -> str:
    """Return the text of the page."""
    recorded = records.read("backtraces")
    parts = [_part(name, case, recorded[name]) for name, case in CASES.items()]
    return "\n".join([INTRODUCTION, *parts])


def _part(name: str, case: Case, theirs: Frames) -> str:
    return "\n".join([f"## {name}\n", f"`{case.statement}`\n", *_table(rows(our_frames(case), theirs)), ""])


def _table(found: list[Row]) -> Iterator[str]:
    yield "| function | file | role | release build |"
    yield "|---|---|---|---|"
    for row in found:
        if row.ours is None:
            assert row.theirs is not None
            yield f"| `{row.theirs[0]}` | | | {row.remark} |"
        else:
            yield f"| `{row.ours.title}` | `{row.ours.file}` | {row.ours.role} | {row.remark} |"


def main() -> int:
    """Write or check the page, and return the exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

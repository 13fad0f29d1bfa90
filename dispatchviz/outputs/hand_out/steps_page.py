"""A hand-out of some steps of a trace: a heading for each line of the program, a table of its events and their reasons,
and the backward graph at that point.

The words are those of the stepper. Pictures are files beside the page, because hosts of Markdown do not show embedded
data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct, field

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE
from dispatchviz.explain.kinds.all_kinds import label, sign, why_here
from dispatchviz.explain.sentences.statement import numbers_of_steps
from dispatchviz.explain.trace_index.enclosing_steps import source_lines
from dispatchviz.explain.trace_index.recorded_engine import engine_text, why_chosen
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.hand_out.marks import cell, code, fenced, plain
from dispatchviz.outputs.log.log_filter import LogFilter, chosen_steps

LEVEL = "calls"
"""The level of detail of a hand-out without ``--level``."""

MOST_PICTURES = 12
LONGEST_PROGRAM = 100
"""The number of lines of a program that is printed whole. For a longer program only the lines in headings are
printed.
"""

INDENT = "&nbsp;&nbsp;"

Draw = Callable[[Trace, int], bytes]
"""A function that draws the backward graph as of a step as SVG. The result is empty if there is nothing to draw."""


class StepsPage(Struct):
    """A hand-out page. Its pictures are complete once all its lines have been read."""

    trace: Trace
    steps: range
    wanted: LogFilter
    views: Sequence[tuple[str, Callable[[int], str]]] = ()
    """Additional views for each step: a title and the function that makes the text."""
    draw: Draw | None = None
    folder: str = ""
    """The folder of its pictures, as the page names it."""
    pictures: dict[str, bytes] = field(default_factory=dict)
    """A mapping from file names to contents."""

    def lines(self) -> Iterator[str]:
        """Yield the lines in order, without line ends. Raise DispatchvizError if there are no such steps."""
        chosen = [step for step in chosen_steps(self.trace, self.wanted) if step in self.steps]
        yield from _head(self.trace, self.steps)
        lines = self.trace.columns.lines
        sections = [(line, list(steps)) for line, steps in groupby(chosen, lambda step: lines[step])]
        pictured = _pictured(self.trace, sections)
        for place, (line, steps) in enumerate(sections):
            yield from _heading(self.trace, line)
            yield from _table(self.trace, steps, line)
            yield from self._views(steps)
            if place in pictured:
                yield from self._picture(steps)

    def _views(self, steps: Iterable[int]) -> Iterator[str]:
        for step in steps if self.views else ():
            for title, text in self.views:
                yield from (f"{title} at step {step}:", "", *fenced(text(step)), "")

    def _picture(self, steps: Sequence[int]) -> Iterator[str]:
        at = min(self.trace.ends[steps[0]], self.steps.stop - 1)
        drawn = self.draw(self.trace, at) if self.draw is not None else b""
        if not drawn or drawn in self.pictures.values():
            return
        name = f"graph-at-step-{at}.svg"
        self.pictures[name] = drawn
        yield from (f"![The backward graph at step {at}]({self.folder}/{name})", "")


def _head(trace: Trace, steps: range) -> Iterator[str]:
    header, program = trace.header, shown(trace.header.program)
    which = "All steps" if len(steps) == len(trace) else f"Steps {steps.start} to {steps.stop - 1}"
    yield from (f"# {which} of {plain(program)}", "")
    yield from (f"{plain(program)} on {plain(engine_text(header))}; its steps are {numbers_of_steps(len(trace))}.", "")
    if reason := why_chosen(header):
        yield from (f"{plain(shown(reason))}.", "")
    for notice in trace.notices:
        yield from (f"Note: {plain(shown(notice))}", "")
    source = source_lines(trace, header.program)
    if source and len(source) <= LONGEST_PROGRAM:
        width = len(str(len(source)))
        text = "\n".join(f"{number:>{width}}  {shown(line)}".rstrip() for number, line in enumerate(source, 1))
        yield from (*fenced(text.rstrip(), "python"), "")


def _heading(trace: Trace, line: int) -> Iterator[str]:
    at = trace[line] if line != NONE else None
    if not isinstance(at, ev.SourceLine):
        yield from ("## Before the first line", "")
        return
    text = source_lines(trace, at.file)[at.line - 1 : at.line]
    within = f" in {plain(shown(at.function))}" if at.function else ""
    file = f"{plain(shown(at.file))}, line" if at.file != trace.header.program else "Line"
    yield from (f"## {file} {at.line}{within}", "")
    if text and text[0].strip():
        yield from (*fenced(shown(text[0].strip()), "python"), "")


def _table(trace: Trace, steps: Sequence[int], line: int) -> Iterator[str]:
    rows = [(step, depth) for step, depth in _nested(trace, steps) if step != line]
    if not rows:
        return
    base = min(depth for _, depth in rows)
    yield from ("| step | what happens | why |", "|---:|---|---|")
    for step, depth in rows:
        what = f"{INDENT * (depth - base)}{sign(trace[step])} {cell(code(shown(label(trace, step))))}"
        yield f"| {step} | {what} | {cell(plain(' '.join(shown(why_here(trace, step)).split())))} |"
    yield ""


def _nested(trace: Trace, steps: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield each step with the number of chosen steps that contain it."""
    ends, around = trace.ends, list[int]()
    for step in steps:
        while around and around[-1] < step:
            around.pop()
        yield step, len(around)
        around.append(ends[step])


def _pictured(trace: Trace, sections: Sequence[tuple[int, Sequence[int]]]) -> frozenset[int]:
    """Return the sections after which the graph is drawn: it grew there, or the engine ran.

    For a line that runs often it is the first time. The last section always has a graph.
    """
    changes = set(trace.steps_of(ev.NodeCreated, ev.NodeStarted))
    places: dict[object, int] = {}
    grown = [place for place, (_, steps) in enumerate(sections) if _has(trace, steps, changes)]
    for place in grown:
        line = trace[sections[place][0]] if sections[place][0] != NONE else None
        key = (line.file, line.line) if isinstance(line, ev.SourceLine) else place
        places.setdefault(key, place)
    return frozenset([*list(places.values())[: MOST_PICTURES - 1], *grown[-1:]])


def _has(trace: Trace, steps: Sequence[int], changes: set[int]) -> bool:
    return not changes.isdisjoint(range(steps[0], trace.ends[steps[0]] + 1))

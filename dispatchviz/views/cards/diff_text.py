"""The text of ``diff``: where two runs first differ and why, the later differences, their numbers, and how they end."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.difference_sentences import Run, said
from dispatchviz.explain.comparison.divergence_sentences import WIDTH, lines_of, raised, sameness, steps_of, texts
from dispatchviz.explain.comparison.divergences import Comparison, Divergence, Lines
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.foundation.english import capital, counted, shortened
from dispatchviz.views.text.console import Console

SHOWN = 12
"""The maximum number of further divergences to show without ``--all``."""


def diff_lines(
    found: Comparison, wheres: tuple[str, str], console: Console, every: bool = False, numbers: bool = True
) -> Iterator[str]:
    """Yield the comparison of two runs, which are named ``in plain.py`` and ``in no_grad.py``. If ``numbers`` is true,
    mention whether the numbers were compared.
    """
    first, second = Run(found.first, wheres[0]), Run(found.second, wheres[1])
    if found.same:
        yield from console.wrapped(sameness(found), 0) if numbers else ()
    elif found.numbers is not None and found.numbers_first:
        yield from _numbers(first, second, found, console)
        yield from _ways(first, second, found, console, every)
    else:
        yield from _ways(first, second, found, console, every)
        if found.numbers is not None:
            yield ""
            yield from _numbers(first, second, found, console)
    yield from _output(first, second, found, console)
    yield from _ends(first, second, found, console)
    if numbers and not found.same and not found.hashed:
        yield ""
        yield from console.wrapped(
            "The numbers were not compared. Record the traces with --hashes to compare the results.", 0
        )


# -- ways -------------------------------------------------------------------------------------------------------------


def _ways(first: Run, second: Run, found: Comparison, console: Console, every: bool) -> Iterator[str]:
    if found.same_way:
        yield from [""] * found.numbers_first
        yield from console.wrapped(
            "Both runs take the same steps: the same calls, with the same keys, to the same kernels.", 0
        )
    if not found.divergences:
        return
    begin, *further = found.divergences
    if found.numbers_first or found.same_way:
        yield ""
    what = "The values that they pass" if found.same_way else "The steps"
    yield from _heading(f"{what} first differ at", first, second, begin.lines, console)
    yield from _edit(first, second, found, begin.lines, console)
    for text in texts(first, second, begin):
        yield from console.wrapped(text)
    yield console.styled(f"  {steps_of(first, second, begin.main)}", "dim")
    if not further:
        return
    yield ""
    yield console.heading("Differences after that")
    for number, divergence in enumerate(further if every else further[:SHOWN]):
        yield from _row(first, second, divergence, console, at_length=not number)
    if len(further) > SHOWN and not every:
        yield f"  and {counted(len(further) - SHOWN, 'line')} more: --all shows them"


def _edit(first: Run, second: Run, found: Comparison, lines: Lines, console: Console) -> Iterator[str]:
    """Yield an earlier line that differs between the programs. It may be the reason if both runs executed it."""
    edit = found.edit
    before = edit is not None and all(
        line is None or step is None or step < line for step, line in zip((edit.first, edit.second), lines, strict=True)
    )
    if edit is not None and before:
        yield "  A line before that differs:"
        for line in lines_of(first, second, (edit.first, edit.second)):
            yield from console.wrapped(line, 4, 6)


def _row(first: Run, second: Run, divergence: Divergence, console: Console, at_length: bool) -> Iterator[str]:
    """Yield one later divergence. If ``at_length`` is true, describe it in full sentences; this is used for the first
    divergence.
    """
    times = f"  ({divergence.times} times)" if divergence.times > 1 else ""
    *before, last = lines_of(first, second, divergence.lines)
    for line in (*before, last + times):
        yield from console.wrapped(line, 2, 6)
    if at_length:
        for text in texts(first, second, divergence):
            yield from console.wrapped(text, 6)
    else:
        yield from console.wrapped(said(first, second, divergence.main).short, 6, 8)


def _heading(begin: str, first: Run, second: Run, lines: Lines, console: Console) -> Iterator[str]:
    """Yield the heading of a part, with one program line in it or two below it."""
    found = lines_of(first, second, lines)
    if len(found) == 1:
        yield from (console.heading(line) for line in console.wrapped(f"{begin} {found[0]}", 0, 2))
        return
    yield console.heading(begin)
    for line in found:
        yield from (console.heading(each) for each in console.wrapped(line, 4, 6))


# -- numbers, output, ends --------------------------------------------------------------------------------------------


def _numbers(first: Run, second: Run, comparison: Comparison, console: Console) -> Iterator[str]:
    found = comparison.numbers
    assert found is not None
    lines = tuple(
        None if step is None or (line := source_line(run.trace, step)) is None else line.seq
        for run, step in ((first, found.first), (second, found.second))
    )
    begin = "The numbers first differ at" if comparison.numbers_first else "After that, the numbers first differ at"
    yield from _heading(begin, first, second, (lines[0], lines[1]), console)
    if comparison.numbers_first:
        yield from _edit(first, second, comparison, (lines[0], lines[1]), console)
    yield from console.wrapped(said(first, second, found).text)
    yield console.styled(f"  {steps_of(first, second, found)}", "dim")


def _output(first: Run, second: Run, found: Comparison, console: Console) -> Iterator[str]:
    """Yield the first output that differs, with the line of it that differs."""
    if found.output is None:
        return
    texts = [_printed(first.trace, found.output.first), _printed(second.trace, found.output.second)]
    at = next((at for at, lines in enumerate(zip(*texts, strict=False)) if lines[0] != lines[1]), min(map(len, texts)))
    lines_there = [
        f"{shortened(lines[at], WIDTH) or 'an empty line'} {run.where}" if at < len(lines) else f"nothing {run.where}"
        for lines, run in zip(texts, (first, second), strict=True)
    ]
    yield ""
    yield from console.wrapped(f"The output first differs: {', '.join(lines_there)}", 0, 2)


def _printed(trace: Trace, step: int | None) -> list[str]:
    event = trace[step] if step is not None else None
    return event.text.splitlines() if isinstance(event, ev.Printed) else []


def _ends(first: Run, second: Run, found: Comparison, console: Console) -> Iterator[str]:
    """Yield how the runs end if only one of them raises an error."""
    ends = [raised(run.trace) for run in (first, second)]
    if (ends[0] is None) == (ends[1] is None):
        return
    failed, step, other = (first, ends[0], second) if ends[0] is not None else (second, ends[1], first)
    assert step is not None
    yield ""
    yield from (console.heading(line) for line in console.wrapped(f"An error ends the program {failed.where}", 0))
    for part in why_here(failed.trace, step).split("\n"):
        yield from console.wrapped(part)
    yield from console.wrapped(f"{capital(other.where)}, the program runs to its end.")

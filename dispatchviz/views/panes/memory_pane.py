"""The memory that saved tensors keep at a step: how much, the peak, its course, and each storage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.kept_memory import kept_memory
from dispatchviz.explain.graph.memory.memory_card import LIMITS, KeptStorage, MemoryCard, SavedBy, memory_card, moment
from dispatchviz.explain.graph.memory.saved_lives import End
from dispatchviz.explain.graph.memory.storage_sizes import plain_bytes
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.foundation.english import capital, counted, listed, numbered, plain_dtype, shaped
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, line

MOST = 40
"""The number of storages that are shown."""

LONGEST_NAME = 26

BARS = " ▁▂▃▄▅▆▇█"
"""The bars for no memory up to the most."""

FEWEST, WIDEST = 8, 40
"""The smallest and the largest number of bars. More do not fit into a pane of the page."""

MARGIN = "  "


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows on all saved tensors, then those of each storage, the largest first."""
    steps = trace.steps_of(ev.VariableSaved)
    if not len(steps) or steps[0] > at:
        return [not_yet(trace, at, ev.VariableSaved, "No Node has saved a tensor")]
    card = memory_card(trace, at, MOST)
    storages = [row for each in card.storages for row in _rows(trace, each)]
    more = [line((f"… {numbered(card.more, 'smaller storage')} more", "dim"))] if card.more else []
    about_all = (_total(card), *_course(trace, at, card, width), *_peak(trace, card), *_copies(card), *_unsure(card))
    return [*about_all, *storages, *more, *_unknown(trace, card)]


def _total(card: MemoryCard) -> Line:
    """The row on the memory that is kept at the step, and the part that costs something extra."""
    if not card.total:
        return line("No saved tensor is kept at this step", key="kept", value="nothing")
    number, alone = len(card.storages) + card.more, plain_bytes(card.unnamed)
    shares = (
        ((", ", "dim"), (alone, "bold"), (" of it in no known variable", "dim"))
        if card.unnamed
        else ((", and variables hold all of it too", "dim"),)
    )
    total = plain_bytes(card.total)
    return line((total, "bold"), f" in {numbered(number, 'storage')}", *shares, key="kept", value=total, indent=2)


def _peak(trace: Trace, card: MemoryCard) -> Iterator[Line]:
    if card.peak:
        step = card.peak_at.step
        found = source_line(trace, step)
        where = "" if found is None else f", line {found.line}: {source_text(trace, found)}"
        yield line(("peak ", "dim"), (plain_bytes(card.peak), "bold"), f" at step {step}{where}", goto=step, cut=True)


def _copies(card: MemoryCard) -> Iterator[Line]:
    if card.copied:
        text = " of it copies tensors of another dtype that are in memory too"
        yield line((plain_bytes(card.copied), "bold"), (text, "dim"), key="copies", indent=2)


def _unsure(card: MemoryCard) -> Iterator[Line]:
    if card.unsure:
        text = " more are kept if their graphs still exist, which a recording does not show"
        yield line((plain_bytes(card.unsure), "bold"), (text, "dim"), key="unsure", indent=2)


# -- the course --------------------------------------------------------------------------------------------------------


def place_of(trace: Trace, step: int, width: int) -> int:
    """Return the bar to which a step belongs, in a pane of this width."""
    return bisect_right(_edges(trace, width), step) - 1


def _edges(trace: Trace, width: int) -> list[int]:
    """Return the first step of each bar, and the number of steps."""
    bars = min(width - len(MARGIN), WIDEST, len(trace))
    return [place * len(trace) // bars for place in range(bars + 1)]


def _course(trace: Trace, at: int, card: MemoryCard, width: int) -> Iterator[Line]:
    """Yield the memory over all steps as bars, and a mark below the bar of the step. The bars lead to the last step, so
    that an open question hides them.
    """
    edges = _edges(trace, width)
    if not card.peak or len(edges) <= FEWEST:
        return
    total, highest = kept_memory(trace).total, len(BARS) - 1
    most = [total.most(*pair) for pair in pairwise(edges)]
    bars = "".join(BARS[-(-value * highest // card.peak)] for value in most)
    top = place_of(trace, card.peak_at.step, width)
    spans = (bars[:top], "tensor"), (bars[top], "warning"), (bars[top + 1 :], "tensor")
    yield line(MARGIN, *spans, cut=True, goto=len(trace) - 1)
    yield line(MARGIN + " " * place_of(trace, at, width), ("▲", "focus"), cut=True)


# -- one storage -------------------------------------------------------------------------------------------------------


def _rows(trace: Trace, kept: KeptStorage) -> Iterator[Line]:
    size = plain_bytes(kept.size)
    yield line(
        (f"{size:>10}  ", "bold"),
        (shorter(kept.name, LONGEST_NAME), "tensor"),
        f" {shaped(kept.shape)} {plain_dtype(kept.dtype)} {kept.device}",
        (f"  also {kept.variable}" if kept.variable else "  only the graph", "name" if kept.variable else "warning"),
        key=f"storage {kept.storage}",
        value=kept.variable,
        goto=kept.begin,
        about=TensorThing(kept.tensor),
        indent=12,
    )
    if kept.copy_of:
        text = f"copy of {kept.copy_of}, which is in memory too, as {plain_dtype(kept.copied_dtype)}"
        yield line(" " * 12, (text, "warning"), key=f"copy {kept.storage}", indent=12)
    more = f" and {counted(kept.more, 'other Node')}" if kept.more else ""
    text = f"by {listed([*map(_saved_by, kept.saved_by)])}{more}: {_span(trace, kept)}"
    yield line(" " * 12, (text, "dim"), key=f"saved {kept.storage}", goto=kept.end, indent=12)


def _saved_by(saved: SavedBy) -> str:
    return f"{saved.node} as {listed(saved.names)}"


def _span(trace: Trace, kept: KeptStorage) -> str:
    """The text on the steps at which a storage is kept: its first line, and its end."""
    begin, end = moment(trace, kept.begin), None if kept.end is None else moment(trace, min(kept.end, len(trace) - 1))
    since = f"line {begin.line}" if begin.line else f"step {kept.begin}"
    if end is None:
        return f"from {since} on, with no recorded end"
    until = f" to {end.line}" if end.line and begin.line else ""
    last = "it" if len(kept.saved_by) == 1 else kept.last
    return f"{since}{until}, until {_ENDS[kept.why].format(last)}"


_ENDS = {
    End.RELEASED: "{} has run",
    End.FREED: "{} is freed",
    End.PACKED: "a hook packs it",
    End.UNSEEN: "{} is freed, at the earliest",
}


def _unknown(trace: Trace, card: MemoryCard) -> Iterator[Line]:
    """Yield the facts that the trace does not show."""
    if card.packed:
        text = f"Hooks packed {counted(card.packed, 'tensor')}, so that memory is not known."
        yield line((text, "dim"), key="packed")
    if card.without_storage:
        number = capital(counted(card.without_storage, "saved tensor"))
        text = f"{number} without storage (sparse, meta, wrapper) do not count."
        yield line((text, "dim"), key="without")
    if is_unseen(trace.header, ev.VariablesReleased):
        yield line((LIMITS, "dim"))

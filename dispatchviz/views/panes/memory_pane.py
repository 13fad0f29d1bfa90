"""The memory that saved tensors keep at a step: how much, the peak, its course, and each storage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.memory.kept_memory import kept_memory
from dispatchviz.explain.memory.memory_card import KeptStorage, MemoryCard, SavedBy, memory_card, moment
from dispatchviz.explain.memory.saved_lives import End
from dispatchviz.explain.memory.storage_sizes import plain_bytes
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.foundation.english import capital, counted, listed, numbered, plain_dtype, shaped
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, Span, line

MOST = 40
"""The number of storages that are shown."""

LONGEST_NAME = 26

BARS = " ▁▂▃▄▅▆▇█"
"""The bars for no memory up to the most."""

FEWEST, WIDEST = 8, 64
"""The smallest and the largest number of bars."""

MARGIN = "  "


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows on all saved tensors, then those of each storage, the largest first."""
    steps = trace.steps_of(ev.VariableSaved)
    if not len(steps) or steps[0] > at:
        return [not_yet(trace, at, ev.VariableSaved, "No Node has saved a tensor")]
    card = memory_card(trace, at, MOST)
    storages = [row for each in card.storages for row in _rows(trace, each)]
    more = [line((f"… {numbered(card.more, 'smaller storage')} more", "dim"))] if card.more else []
    return [*_summary(trace, card), *_course(trace, at, card, width), *storages, *more, *_unknown(trace, card)]


def _summary(trace: Trace, card: MemoryCard) -> Iterator[Line]:
    number = len(card.storages) + card.more
    where = f" in {counted(number, 'storage')}, each counted once" if number > 1 else ""
    yield line(
        ("Saved tensors keep ", ""),
        (plain_bytes(card.total) if card.total else "nothing", "bold"),
        where,
        key="kept",
        value=plain_bytes(card.total),
    )
    if card.total:
        yield line("  ", *_shares(card), key="shares", value=plain_bytes(card.unnamed), indent=2)
    if card.copied:
        text = f"{plain_bytes(card.copied)} are copies, in another dtype, of memory that is kept too"
        yield line("  ", (text, "dim"), key="copies", value=plain_bytes(card.copied), indent=2)
    if card.peak:
        yield line(
            ("Peak ", ""),
            (plain_bytes(card.peak), "bold"),
            (f" at step {card.peak_at.step}{_on_line(trace, card.peak_at.step)}", "dim"),
            goto=card.peak_at.step,
            indent=2,
        )


def _shares(card: MemoryCard) -> tuple[Span, ...]:
    """The part that only the graph keeps, and the part that costs nothing extra."""
    held = card.total - card.unnamed
    if not card.unnamed:
        return (("variables hold all of it too, so saving costs nothing extra at this step", "dim"),)
    if not held:
        return (("only for the graph: no variable is known to hold any of it", "dim"),)
    text = f" only for the graph, as far as the trace shows; {plain_bytes(held)} variables hold too"
    return (plain_bytes(card.unnamed), ""), (text, "dim")


def _on_line(trace: Trace, step: int) -> str:
    found = source_line(trace, step)
    return "" if found is None else f", line {found.line}: {source_text(trace, found)}"


# -- the course --------------------------------------------------------------------------------------------------------


def place_of(trace: Trace, step: int, width: int) -> int:
    """Return the bar to which a step belongs, in a pane of this width."""
    return bisect_right(_edges(trace, width), step) - 1


def _edges(trace: Trace, width: int) -> list[int]:
    """Return the first step of each bar, and the number of steps."""
    bars = min(width - len(MARGIN), WIDEST, len(trace))
    return [place * len(trace) // bars for place in range(bars + 1)]


def _course(trace: Trace, at: int, card: MemoryCard, width: int) -> Iterator[Line]:
    """Yield the memory over all steps as bars, and a mark below the bar of the step."""
    edges = _edges(trace, width)
    if not card.peak or len(edges) <= FEWEST:
        return
    total, highest = kept_memory(trace).total, len(BARS) - 1
    most = [total.most(*pair) for pair in pairwise(edges)]
    bars = "".join(BARS[-(-value * highest // card.peak)] for value in most)
    top = place_of(trace, card.peak_at.step, width)
    yield line(MARGIN, (bars[:top], "tensor"), (bars[top], "warning"), (bars[top + 1 :], "tensor"), cut=True)
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
        text = f"copy of {kept.copy_of} in another dtype; {kept.copy_of}, {plain_dtype(kept.copied_dtype)}, is kept too"
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
        yield line((UNSEEN, "dim"))


UNSEEN = (
    "Not seen: when a graph that does not run is dropped, so its tensors count to the end; tensors that hooks pack or "
    "CopySlices keeps."
)
"""The limits of a recording of an installed PyTorch."""

"""The dispatch table entry that a call landed in: its kernel, the rule, and the other candidates."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.own_numbers import own_cell, own_keys
from dispatchviz.explain.kinds.dispatch import selected
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, within


class Candidate(Struct, frozen=True):
    """A key or alias that the kernel of the entry could have come from."""

    source: str
    """The key or alias; ``fallback of AutogradCUDA`` for the key's fallback."""
    outcome: str
    """``taken``, ``nothing registered``, ``not reached``, or why it was passed over."""
    kernel: str
    """The kernel's name; empty if there is none."""

    @property
    def taken(self) -> bool:
        """True if it provides the kernel of the entry."""
        return self.outcome == "taken"

    @property
    def reached(self) -> bool:
        """True if nothing before it was taken."""
        return self.outcome != "not reached"


class CellCard(Struct, frozen=True):
    """The view of a dispatch table entry."""

    operator: str
    key: str
    index: int
    """The index in the operator's table, as the recorded PyTorch has it."""
    cells: int
    """The number of entries of the table."""
    kernel: str
    reason: str
    """PyTorch's own tag."""
    source: str
    """The key or alias that the kernel is registered for."""
    registered: str
    """The place of the registration, as PyTorch prints it."""
    why: str
    candidates: tuple[Candidate, ...]
    """The candidates, in order of precedence."""


def cell_card(trace: Trace, seq: int) -> CellCard | None:
    """The entry of the dispatch that step ``seq`` is or is within; None outside any dispatch."""
    call = at_or_around(trace, seq, ev.Dispatched)
    chosen = within(trace, call.seq, ev.KernelSelected) if call else None
    if chosen is None:
        return None
    return CellCard(
        operator=chosen.operator,
        key=chosen.key,
        index=own_cell(trace.header, chosen.key, chosen.cell),
        cells=len(own_keys(trace.header)),
        kernel=chosen.kernel,
        reason=chosen.reason,
        source=chosen.source,
        registered=chosen.registered,
        why=selected(chosen).text,
        candidates=tuple(_candidates(chosen)),
    )


def _candidates(chosen: ev.KernelSelected) -> Iterator[Candidate]:
    """Yield the candidates. The key itself comes twice: first for its own kernel, last for its fallback, which is named
    so.
    """
    for position, (source, outcome, kernel) in enumerate(chosen.candidates):
        fallback = position and source == chosen.key
        yield Candidate(f"fallback of {source}" if fallback else source, _as_said_now(outcome), kernel)


def _as_said_now(outcome: str) -> str:
    """An outcome in today's words; traces before format 3 use others."""
    if outcome == "not asked":
        return "not reached"
    return outcome.replace("does not stand for ", "does not cover ", 1)

"""The rules for notes on a program that has no mistake. Each gets a trace and yields notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.autocast_casts import autocast_casts
from dispatchviz.explain.diagnosis.notes.broadcast_sums import broadcast_sums
from dispatchviz.explain.diagnosis.notes.checkpoints import checkpoints
from dispatchviz.explain.diagnosis.notes.copies import copies
from dispatchviz.explain.diagnosis.notes.evaluation import evaluation
from dispatchviz.explain.diagnosis.notes.frozen import frozen
from dispatchviz.explain.diagnosis.notes.hook_order import hook_order
from dispatchviz.explain.diagnosis.notes.next_functions import next_functions
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.notes.ties import ties
from dispatchviz.explain.diagnosis.notes.written_parts import written_parts

NOTE_RULES: tuple[Callable[[Trace], Iterator[Note]], ...] = (
    next_functions,
    autocast_casts,
    checkpoints,
    hook_order,
    frozen,
    ties,
    written_parts,
    evaluation,
    broadcast_sums,
    copies,
)
"""The rules in the order of their notes: first questions that the program itself raises, then rare events."""

MOST, OF_EACH = 4, 2
"""The largest number of notes, and of notes of each rule."""

LOOKED_AT = 50
"""The number of notes of a rule that are compared."""


def notes(trace: Trace) -> tuple[Note, ...]:
    """Return the notes on a sound program, in the order of the rules. A repetition in a loop is reported once. There
    are none in a recording of a part.
    """
    if trace.header.only:
        return ()
    found = (each for rule in NOTE_RULES for each in islice(_different(rule(trace)), OF_EACH))
    return tuple(islice(found, MOST))


def _different(found: Iterator[Note]) -> Iterator[Note]:
    seen = set[str]()
    for each in islice(found, LOOKED_AT):
        if each.statement.text not in seen:
            seen.add(each.statement.text)
            yield each

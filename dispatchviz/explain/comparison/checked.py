"""A comparison of a run on the model with one on PyTorch, limited to the events that both record."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.explain.comparison.texts_of_any_run import of_any_run
from dispatchviz.explain.keys.key_layouts import minor
from dispatchviz.foundation.english import counted

OF_THE_MODEL = "dispatchviz's model"
"""The text by which errors and warnings name the model where it differs from PyTorch."""


class Checked(Struct, frozen=True):
    """Both complete traces, and the comparison of the events that both record."""

    model: Trace
    torch: Trace
    comparison: Comparison
    printed: tuple[str | None, str | None] | None
    """The first line that the program printed differently, in the model and in PyTorch (None if it printed no more).
    None if all lines are equal up to the last digits of numbers.
    """
    release_changes: tuple[str, ...] = ()
    """The differences of registration in the installed release, for operators that differ: sentences without a full
    stop.
    """

    @property
    def releases(self) -> tuple[str, str] | None:
        """The releases of the model and of PyTorch, if they differ."""
        ours, theirs = self.model.header.pytorch, self.torch.header.pytorch
        return None if minor(ours) == minor(theirs) else (minor(ours), theirs.partition("+")[0])

    @property
    def printed_alike(self) -> bool:
        """True if the program printed the same."""
        return self.printed is None

    @property
    def same(self) -> bool:
        """True if PyTorch did the same as the model."""
        return self.comparison.same and self.printed_alike

    @property
    def warned(self) -> tuple[ev.Warned, ...]:
        """The warnings in which the model states that it differs from PyTorch, each once."""
        events = (self.model[step] for step in self.model.steps_of(ev.Warned))
        own = [event for event in events if isinstance(event, ev.Warned) and event.message.startswith(OF_THE_MODEL)]
        return tuple({(event.message, event.line): event for event in own}.values())


def checked_traces(model: Trace, torch: Trace) -> Checked:
    """Compare a run on the model with one on PyTorch, and their printed output."""
    found = compared_as_seen(model, torch)
    return Checked(model, torch, found, _first_unlike(_printed(found.first), _printed(found.second)))


def compared_as_seen(first: Trace, second: Trace) -> Comparison:
    """Compare the events that both traces record, one of them from an installed PyTorch: first the events, then their
    tensors and Nodes.
    """
    same_release = minor(first.header.pytorch) == minor(second.header.pytorch)
    ours, theirs = seen_by_both(first, same_release), seen_by_both(second, same_release)
    found = compare(ours, theirs)
    return compare(ours, theirs, exact=True) if found.same else found


def operators_that_differ(found: Checked) -> frozenset[str]:
    """Return the operators of the calls that differ, or that contain a difference."""
    comparison = found.comparison
    differences = [one for group in comparison.divergences for one in (group.main, *group.further)]
    ours = (_operators_around(comparison.first, one.first) for one in differences)
    theirs = (_operators_around(comparison.second, one.second) for one in differences)
    return frozenset(name for names in (*ours, *theirs) for name in names)


def keys_called(found: Checked) -> frozenset[str]:
    """Return the keys that calls of either run went to."""
    runs = found.comparison.first, found.comparison.second
    calls = (run[step] for run in runs for step in run.steps_of(ev.Dispatched))
    return frozenset(call.key for call in calls if isinstance(call, ev.Dispatched))


def _operators_around(trace: Trace, step: int | None) -> Iterator[str]:
    while step is not None:
        event = trace[step]
        if isinstance(event, ev.Dispatched):
            yield event.operator
        step = event.parent


def line_of_the_end(found: Checked) -> int | None:
    """Return the step of the model's run, among the events that both record, at which its last line begins. None if
    PyTorch did something else before.
    """
    ours, theirs = (run.steps_of(ev.SourceLine) for run in (found.comparison.first, found.comparison.second))
    line = ours[-1] if ours else 0
    after = theirs[len(ours) - 1] if 0 < len(ours) <= len(theirs) else len(found.comparison.second)
    parts = ((one.main.first, one.main.second) for one in found.comparison.divergences)
    before = any(
        step is not None and step < end for pair in parts for step, end in zip(pair, (line, after), strict=True)
    )
    return None if before else line


def verdict(found: Checked) -> str:
    """Return the result in a few words."""
    if found.same:
        return "no difference"
    many = len(found.comparison.divergences)
    return f"{counted(many, 'line')} of the program differ" if many > 1 else "a difference"


def _printed(trace: Trace) -> str:
    printed = (trace[step] for step in trace.steps_of(ev.Printed))
    return "".join(event.text for event in printed if isinstance(event, ev.Printed))


def _first_unlike(ours: str, theirs: str) -> tuple[str | None, str | None] | None:
    if alike(ours, theirs):
        return None
    pairs = zip_longest(ours.splitlines(), theirs.splitlines())
    return next((one, other) for one, other in pairs if one is None or other is None or not alike(one, other))


def alike(ours: str, theirs: str) -> bool:
    """Return whether texts are equal except for addresses, the folder of PyTorch and the last digits of numbers with a
    point. PyTorch's matrix products and vectorized functions round differently from machine to machine.
    """
    one, other = (_NUMBER.split(of_any_run(text)) for text in (ours, theirs))
    same_text = [_BLANKS.sub(" ", part) for part in one[::2]] == [_BLANKS.sub(" ", part) for part in other[::2]]
    return same_text and all(map(_close, one[1::2], other[1::2]))


def _close(ours: str, theirs: str) -> bool:
    return math.isclose(float(ours), float(theirs), rel_tol=1e-3, abs_tol=2e-4)


_NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]\d+)?)")
_BLANKS = re.compile(" +")

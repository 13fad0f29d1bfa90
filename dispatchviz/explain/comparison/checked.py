"""A run on the model beside one on PyTorch: what both see of each, compared."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import zip_longest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.explain.keys.key_layouts import minor
from dispatchviz.explain.sentences.english import counted

OF_THE_MODEL = "dispatchviz's model"
"""By this errors and warnings name the model where it says that it is not as PyTorch."""


@dataclass(frozen=True)
class Checked:
    """Both traces as they are, and the comparison of what both can see of them."""

    model: Trace
    torch: Trace
    comparison: Comparison
    printed: tuple[str | None, str | None] | None
    """The first line that the program printed otherwise, in the model and in PyTorch (None: it printed no more); None
    if all lines are the same, up to the last digits of numbers."""

    @property
    def printed_alike(self) -> bool:
        """What the program printed is the same."""
        return self.printed is None

    @property
    def same(self) -> bool:
        """PyTorch did what the model does."""
        return self.comparison.same and self.printed_alike

    @property
    def warned(self) -> tuple[ev.Warned, ...]:
        """Where the model says of itself that it does otherwise than PyTorch, each once."""
        events = (self.model[step] for step in self.model.steps_of(ev.Warned))
        own = [event for event in events if isinstance(event, ev.Warned) and event.message.startswith(OF_THE_MODEL)]
        return tuple({(event.message, event.line): event for event in own}.values())


def checked_traces(model: Trace, torch: Trace) -> Checked:
    """Compares a run on the model with one on PyTorch: first what happened, then with which tensors and Nodes."""
    same_release = minor(model.header.pytorch) == minor(torch.header.pytorch)
    ours, theirs = seen_by_both(model, same_release), seen_by_both(torch, same_release)
    found = compare(ours, theirs)
    if found.same:
        found = compare(ours, theirs, exact=True)
    return Checked(model, torch, found, _first_unlike(_printed(ours), _printed(theirs)))


def line_of_the_end(found: Checked) -> int | None:
    """The step, in what both see of the model's run, at which its last line begins, if PyTorch did the same before;
    None if it did not."""
    ours, theirs = (run.steps_of(ev.SourceLine) for run in (found.comparison.first, found.comparison.second))
    line = ours[-1] if ours else 0
    after = theirs[len(ours) - 1] if 0 < len(ours) <= len(theirs) else len(found.comparison.second)
    parts = ((one.main.first, one.main.second) for one in found.comparison.divergences)
    before = any(
        step is not None and step < end for pair in parts for step, end in zip(pair, (line, after), strict=True)
    )
    return None if before else line


def verdict(found: Checked) -> str:
    """In a few words."""
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
    """The same text but for addresses, and the last digits of numbers with a point: PyTorch's matrix products and
    vectorised functions round differently from machine to machine."""
    one, other = (_NUMBER.split(_ADDRESS.sub("at an address", text)) for text in (ours, theirs))
    same_text = [_BLANKS.sub(" ", part) for part in one[::2]] == [_BLANKS.sub(" ", part) for part in other[::2]]
    return same_text and all(map(_close, one[1::2], other[1::2]))


def _close(ours: str, theirs: str) -> bool:
    return math.isclose(float(ours), float(theirs), rel_tol=1e-3, abs_tol=2e-4)


_NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]\d+)?)")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_BLANKS = re.compile(" +")

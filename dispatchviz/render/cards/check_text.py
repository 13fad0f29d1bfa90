"""``check`` as text: that PyTorch did what the model does, or where they part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.checked import Checked
from dispatchviz.render.cards.diff_text import diff_lines
from dispatchviz.render.console import Console

COMPARED: tuple[tuple[type[ev.Event], str], ...] = (
    (ev.Dispatched, "call"),
    (ev.NodeCreated, "Node"),
    (ev.NodeStarted, "step of the engine"),
)


def check_lines(found: Checked, wheres: tuple[str, str], console: Console, every: bool = False) -> Iterator[str]:
    """The comparison of a run on the model with one on PyTorch."""
    release, seen = found.torch.header.pytorch, found.comparison.second
    if found.comparison.same:
        but = "" if found.printed_alike else ". But the program printed something else"
        same = f"PyTorch {release} did what the model does, as far as can be seen: {_amounts(seen)}{but}."
        yield from console.wrapped(same, 0)
    comparison = replace(found.comparison, output=None) if found.printed_alike else found.comparison
    yield from diff_lines(comparison, wheres, console, every, numbers=False)


def _amounts(trace: Trace) -> str:
    counts = [(len(trace.steps_of(kind)), name) for kind, name in COMPARED]
    texts = [_counted(many, name) for many, name in counts if many]
    return ", ".join(texts) or "no call"


def _counted(many: int, name: str) -> str:
    """In figures, as the counts stand side by side."""
    return f"{many:,} {name}" if many == 1 else f"{many:,} {_PLURALS.get(name, f'{name}s')}"


_PLURALS = {"step of the engine": "steps of the engine"}

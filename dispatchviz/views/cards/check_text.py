"""The text of ``check``: PyTorch did the same as the model, or the place where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.checked import Checked
from dispatchviz.explain.comparison.divergence_sentences import WIDTH
from dispatchviz.foundation.english import shortened
from dispatchviz.views.cards.diff_text import diff_lines
from dispatchviz.views.text.console import Console

COMPARED: tuple[tuple[type[ev.Event], str], ...] = (
    (ev.Dispatched, "call"),
    (ev.NodeCreated, "Node"),
    (ev.NodeStarted, "step of the engine"),
)


def check_lines(found: Checked, wheres: tuple[str, str], console: Console, every: bool = False) -> Iterator[str]:
    """Yield the lines of the comparison between a run on the model and one on PyTorch."""
    release = found.torch.header.pytorch
    if (line := releases_line(found)) is not None:
        yield from console.wrapped(line, 0)
    if found.comparison.same:
        but = "" if found.printed_alike else ". But the program printed different text"
        same = f"PyTorch {release} did the same as the model, as far as can be observed: {_amounts(found)}{but}."
        yield from console.wrapped(same, 0)
    yield from diff_lines(replace(found.comparison, output=None), wheres, console, every, numbers=False)
    for reason in release_reasons(found):
        yield ""
        yield from console.wrapped(reason, 0, 2)
    for event in found.warned:
        yield ""
        yield from console.wrapped(f"Line {event.line}: {event.message}.", 0, 2)
    if found.printed is not None:
        texts = [_line(line, where) for line, where in zip(found.printed, wheres, strict=True)]
        yield ""
        yield from console.wrapped(f"The output first differs: {', '.join(texts)}", 0, 2)


def releases_line(found: Checked) -> str | None:
    """The note that two releases are compared; None if there is only one release."""
    if found.releases is None:
        return None
    ours, theirs = found.releases
    return f"Two releases are compared: the model is PyTorch {ours}, and the installed one is PyTorch {theirs}."


def release_reasons(found: Checked) -> tuple[str, ...]:
    """The reasons why two releases differ, as far as their registrations show them; empty if nothing differs."""
    if found.releases is None or found.same:
        return ()
    if found.release_changes:
        return tuple(f"The releases differ here: {one}." for one in found.release_changes)
    return ("The release may be the cause: the internals of kernels change between releases.",)


def _line(line: str | None, where: str) -> str:
    return f"nothing {where}" if line is None else f"{shortened(line, WIDTH) or 'an empty line'} {where}"


def amounts(found: Checked) -> dict[str, int]:
    """The number of compared items of each kind, counted in the PyTorch run."""
    return _counts(found.comparison.second)


def _counts(trace: Trace, end: int | None = None) -> dict[str, int]:
    steps = {_plural(name): trace.steps_of(kind) for kind, name in COMPARED}
    return {name: len(of) if end is None else sum(step < end for step in of) for name, of in steps.items()}


def same_until(found: Checked, end: int) -> str | None:
    """The sentence for a run on the model that ended early. PyTorch did the same before step ``end``. None if nothing
    happened before it.
    """
    counts = _counts(found.comparison.first, end)
    if not any(counts.values()):
        return None
    return f"Before that line, PyTorch {found.torch.header.pytorch} did the same as the model: {_counts_text(counts)}"


def _amounts(found: Checked) -> str:
    return _counts_text(amounts(found))


def _counts_text(amounts: dict[str, int]) -> str:
    counts = zip((name for _, name in COMPARED), amounts.values(), strict=True)
    texts = [f"{many:,} {name if many == 1 else _plural(name)}" for name, many in counts if many]
    return ", ".join(texts) or "no calls"


def _plural(name: str) -> str:
    return _PLURALS.get(name, f"{name}s")


_PLURALS = {"step of the engine": "steps of the engine"}

"""``why --error`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.explain.errors.error_message import ErrorAnswer
from dispatchviz.views.text.console import Console


def error_lines(answer: ErrorAnswer, console: Console) -> Iterator[str]:
    """The answer, part by part."""
    yield console.heading(f"{answer.operator}  {answer.key}".rstrip()) + f"  ({answer.kind})"
    yield from _paragraphs("What happened", answer.happened, console)
    if answer.groups:
        yield ""
        yield console.heading("What the list shows: cells of this operator that are not empty")
        for group in answer.groups:
            keys = f": {', '.join(group.keys)}" if group.keys else ""
            yield from console.wrapped(f"{group.title}{keys}", 2, 4)
            yield from console.wrapped(group.meaning, 4)
    yield from _paragraphs("Usual causes", answer.causes, console, "– ")
    yield from _paragraphs("What to do", answer.todo, console, "– ")
    if answer.now:
        yield from _paragraphs("Today", (answer.now,), console)


def _paragraphs(title: str, texts: tuple[str, ...], console: Console, sign: str = "") -> Iterator[str]:
    yield ""
    yield console.heading(title)
    for text in texts:
        yield from console.wrapped(sign + text, 2, 2 + len(sign))

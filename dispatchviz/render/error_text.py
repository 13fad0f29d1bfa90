"""``why --error`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.explain.errors.error_message import ErrorAnswer
from dispatchviz.render.plain import Paper


def error_lines(answer: ErrorAnswer, paper: Paper) -> Iterator[str]:
    """The answer, part by part."""
    yield paper.heading(f"{answer.operator}  {answer.key}".rstrip()) + f"  ({answer.kind})"
    yield from _part("What happened", answer.happened, paper)
    if answer.groups:
        yield ""
        yield paper.heading("What the list says: cells of this operator that are not empty")
        for group in answer.groups:
            keys = f": {', '.join(group.keys)}" if group.keys else ""
            yield from paper.wrapped(f"{group.title}{keys}", 2, 4)
            yield from paper.wrapped(group.meaning, 4)
    yield from _part("Usual causes", answer.causes, paper, "– ")
    yield from _part("What to do", answer.todo, paper, "– ")
    if answer.now:
        yield from _part("Today", (answer.now,), paper)


def _part(title: str, texts: tuple[str, ...], paper: Paper, sign: str = "") -> Iterator[str]:
    yield ""
    yield paper.heading(title)
    for text in texts:
        yield from paper.wrapped(sign + text, 2, 2 + len(sign))

"""The text of ``why --error``: lines that start with ``why``, ``PyTorch says``, ``try`` and ``see``, as for a
program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.views.cards.diagnosis_text import labeled
from dispatchviz.views.text.console import Console

if TYPE_CHECKING:
    from dispatchviz.explain.diagnosis.messages.error_message import ErrorAnswer
    from dispatchviz.explain.diagnosis.messages.pasted_text import Explained


def message_lines(answers: Sequence[Explained], console: Console) -> Iterator[str]:
    """Yield each message. For a missing kernel, add the part of the operator's table that the message contains."""
    for number, answer in enumerate(answers):
        if number:
            yield ""
        for label, text in _parts(answer):
            yield from labeled(label, text, console)
        if answer.kernel is not None:
            yield ""
            yield from _kernel_lines(answer.kernel, console)


def _parts(answer: Explained) -> Iterator[tuple[str, str]]:
    found = answer.found
    yield "why", found.why
    yield "PyTorch says", f'"{found.says}"'
    yield from (("try", fix) for fix in answer.fixes)
    if found.message.command:
        yield "see", found.message.command


def _kernel_lines(answer: ErrorAnswer, console: Console) -> Iterator[str]:
    yield console.heading(f"{answer.operator}  {answer.key}".rstrip()) + f"  ({answer.kind})"
    yield from _paragraphs("What happened", answer.happened, console)
    if answer.groups:
        yield ""
        yield console.heading("What the list shows: the non-empty table entries of this operator")
        for group in answer.groups:
            keys = f": {', '.join(group.keys)}" if group.keys else ""
            yield from console.wrapped(f"{group.title}{keys}", 2, 4)
            yield from console.wrapped(group.meaning, 4)
    yield from _paragraphs("Usual causes", answer.causes, console, "– ")
    if answer.now:
        yield from _paragraphs("Today", (answer.now,), console)


def _paragraphs(title: str, texts: tuple[str, ...], console: Console, sign: str = "") -> Iterator[str]:
    yield ""
    yield console.heading(title)
    for text in texts:
        yield from console.wrapped(sign + text, 2, 2 + len(sign))


def message_values(answers: Sequence[Explained]) -> dict[str, Any]:
    """The messages as values for JSON."""
    return {"messages": [_values(each) for each in answers]}


def _values(answer: Explained) -> dict[str, Any]:
    found = answer.found
    return {
        "kind": found.message.kind,
        "diagnosis": found.message.diagnosis,
        "why": found.why,
        "PyTorch says": found.says,
        "values": found.values,
        "try": answer.fixes,
        "see": found.message.command,
        "kernel": answer.kernel,
    }

"""Values as text, and the choice that a value selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.lessons.asked.expression import ExpressionError

YES, NO = "yes", "no"

MOST_NUMBERS = 16
"""The largest number of elements that a value is shown with."""


def shown(value: Any) -> str:
    """Return a value as text: ``yes``, ``[2, 2]``, ``None``. A text has no line ends at its end: ``print`` writes one.
    Raise ExpressionError for a value without a short text.
    """
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return value.rstrip("\n")
    if hasattr(value, "tolist") and hasattr(value, "numel"):
        if value.numel() > MOST_NUMBERS:
            raise ExpressionError(
                f"a tensor with {value.numel()} elements is no answer; ask for one of them, or for its shape"
            )
        return shown(value.tolist())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if hasattr(value, "next_functions"):
        return plain_node(value.name())
    return _short(str(value))


def _short(text: str) -> str:
    """Return the text of a value, unless it is an address or has several lines."""
    if " at 0x" in text or "\n" in text:
        raise ExpressionError(f"{text.splitlines()[0]} is no answer; compare it, as in: ... is None")
    return text


def selected(choices: Sequence[str], value: str) -> list[int]:
    """Return the positions of the choices that a value selects: those whose text, or whose text before a colon or
    comma, is the value.
    """
    return [k for k, choice in enumerate(choices) if normal(value) in _names(choice)]


def _names(choice: str) -> set[str]:
    return {normal(choice), normal(choice[: _end_of_label(choice)])}


def _end_of_label(choice: str) -> int:
    """Return where the explanation of a choice begins: ``yes: it is a leaf``, ``[2, 2]: the sum``. A comma within
    brackets is none.
    """
    depth = 0
    for at, sign in enumerate(choice):
        depth += (sign in "([") - (sign in ")]")
        if not depth and at and sign in ":," and choice[at + 1 : at + 2] in ("", " "):
            return at
    return len(choice)

"""Values as text, and the choice that a value selects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.lessons.asked.expression import ExpressionError

YES, NO = "yes", "no"

MOST_NUMBERS = 16
"""The largest number of elements that a value is shown with."""

_LABEL = re.compile(r"([^:,(\[]+)[:,]\s")
"""The part of a choice before its explanation: ``yes`` of ``yes: it is a leaf``."""


def shown(value: Any) -> str:
    """Return a value as text: ``yes``, ``[2, 2]``, ``None``. Raise ExpressionError for a value without a short text."""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return value
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
    label = _LABEL.match(choice)
    return {normal(choice), *([normal(label[1])] if label else ())}

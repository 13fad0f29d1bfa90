"""All known messages, and the search for them in a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from dispatchviz.explain.diagnosis.messages.arguments import ARGUMENTS
from dispatchviz.explain.diagnosis.messages.devices import DEVICES
from dispatchviz.explain.diagnosis.messages.dtypes import DTYPES
from dispatchviz.explain.diagnosis.messages.forward_mode import FORWARD_MODE
from dispatchviz.explain.diagnosis.messages.functions import FUNCTIONS
from dispatchviz.explain.diagnosis.messages.gradients import GRADIENTS
from dispatchviz.explain.diagnosis.messages.in_place import IN_PLACE
from dispatchviz.explain.diagnosis.messages.indices import INDICES
from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage
from dispatchviz.explain.diagnosis.messages.matrices import MATRICES
from dispatchviz.explain.diagnosis.messages.modules import MODULES
from dispatchviz.explain.diagnosis.messages.operators import OPERATORS
from dispatchviz.explain.diagnosis.messages.shapes import SHAPES
from dispatchviz.explain.diagnosis.messages.transforms import TRANSFORMS

SUBJECTS: dict[str, tuple[KnownMessage, ...]] = {
    "Gradients": GRADIENTS,
    "In place, views, saved tensors": IN_PLACE,
    "Shapes": SHAPES,
    "Matrices": MATRICES,
    "Indices and classes": INDICES,
    "Dtypes and values": DTYPES,
    "Devices": DEVICES,
    "Modules, losses, optimizers": MODULES,
    "Custom Functions and hooks": FUNCTIONS,
    "Arguments, Python, NumPy": ARGUMENTS,
    "Operators and kernels": OPERATORS,
    "Forward mode": FORWARD_MODE,
    "Transforms": TRANSFORMS,
}
"""The messages by heading."""

MESSAGES = tuple(message for messages in SUBJECTS.values() for message in messages)

LONGEST = 600
"""The largest length of a quoted message, which otherwise ends with its line."""


MARKS = re.compile(r"^[ \t]*(?:(?:[>|]|E(?=[ \t]{2}))[ \t]?)+|^\[rank\d+\]:[ \t]?|\x1b\[[\d;]*m", re.MULTILINE)
"""The marks that mail, pytest, a table, torchrun and a terminal's colors put between the lines of a message."""


class Found(NamedTuple):
    """A known message in a text."""

    message: KnownMessage
    start: int
    end: int
    values: dict[str, str]
    """The values of its variable parts."""
    says: str
    """The text up to the end of the line in which the message's known part ends, on one line."""

    @property
    def why(self) -> str:
        """The sentence with the values of this case, then the cause."""
        return self.message.why(self.values)


@lru_cache(64)
def known(message: str) -> Found | None:
    """Return the entry of a message that PyTorch has raised, or None if it is not known."""
    return next(iter(found_in(message)), None)


def pasted(text: str) -> str:
    """Return a pasted text without the marks around a message, and without the escapes of a string literal."""
    for printed, meant in (("\r\n", "\n"), ("\\n", "\n"), ("\\'", "'"), ('\\"', '"')):
        text = text.replace(printed, meant)
    return MARKS.sub("", text)


def found_in(text: str) -> list[Found]:
    """Return all known messages in a text, in order, each once for the same values."""
    plain = " ".join(text.split()).casefold()
    spans = [each for message in MESSAGES for each in _matches(message, text, plain)]
    spans.sort(key=lambda each: (each.start, -each.end))
    kept: list[Found] = []
    for each in spans:
        within = any(other.start <= each.start and each.end <= other.end for other in kept)
        again = any((other.message, other.values) == (each.message, each.values) for other in kept)
        if not within and not again:
            kept.append(each)
    return kept


def _matches(message: KnownMessage, text: str, plain: str) -> list[Found]:
    """Return the matches of the first form of a message that occurs in a text."""
    for pattern, piece in zip(message.patterns, message.pieces, strict=True):
        if piece in plain:
            found = [_found(message, match, text) for match in pattern.finditer(text)]
            if found:
                return found
    return []


def _found(message: KnownMessage, match: re.Match[str], text: str) -> Found:
    values = {name: _plain(value) for name, value in match.groupdict().items() if value is not None}
    begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - LONGEST)
    before = text[begin : match.start()]
    start = begin + before.rfind("Error: ") + len("Error: ") if "Error: " in before else match.start()
    end = text.find("\n", match.end())
    last = min(len(text) if end < 0 else end, match.end() + LONGEST)
    return Found(message, match.start(), match.end(), values, " ".join(text[start:last].split()))


def _plain(value: str) -> str:
    """Return a value on one line: ``[2, 3]`` for ``torch.Size([2, 3])``."""
    return " ".join(value.removeprefix("torch.Size(").removesuffix("])").split()) + "]" * value.endswith("])")

"""All known messages, and which of them a text has."""

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
"""Heading to messages."""

MESSAGES = tuple(message for messages in SUBJECTS.values() for message in messages)

LONGEST = 600
"""A message is quoted to the end of its line, but no further than this."""


MARKS = re.compile(r"^[ \t]*(?:(?:[>|]|E(?=[ \t]{2}))[ \t]?)+|^\[rank\d+\]:[ \t]?|\x1b\[[\d;]*m", re.MULTILINE)
"""What mail, pytest, a table, torchrun and a terminal's colors put between the lines of a message."""


class Found(NamedTuple):
    """A known message in a text."""

    message: KnownMessage
    start: int
    end: int
    values: dict[str, str]
    """Its variable parts."""
    says: str
    """The text to the end of the line in which the message's known part ends, on one line."""

    @property
    def why(self) -> str:
        """What it says of this case, then the cause."""
        return self.message.why(self.values)


@lru_cache(64)
def known(message: str) -> Found | None:
    """The entry of a message that PyTorch has raised; None if it is not known."""
    return next(iter(found_in(message)), None)


def pasted(text: str) -> str:
    """A text from elsewhere without the marks around a message, and as it was before it was printed as a literal."""
    for printed, meant in (("\r\n", "\n"), ("\\n", "\n"), ("\\'", "'"), ('\\"', '"')):
        text = text.replace(printed, meant)
    return MARKS.sub("", text)


def found_in(text: str) -> list[Found]:
    """All known messages in a text, in their order, each once for the same values."""
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
    """The first form of a message that a text has, wherever it has it."""
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
    """``[2, 3]`` for ``torch.Size([2, 3])``, on one line."""
    return " ".join(value.removeprefix("torch.Size(").removesuffix("])").split()) + "]" * value.endswith("])")

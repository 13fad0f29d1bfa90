"""A parser for PyTorch's errors about missing kernels, of any release, in a text that may contain anything else.

``error_message.py`` explains the errors.
"""

from __future__ import annotations

import re

from msgspec import Struct


def _pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression for an error's text, with any line breaks."""
    return re.compile(text.replace(" ", r"\s+"), re.DOTALL)


NO_KERNEL = _pattern(
    r"Could not run '(?P<operator>[^']+)' with arguments from the '(?P<key>[^']+)' backend"
    r"(?:.*?only available for these backends: \[(?P<keys>[^\]]*)\])?"
)
NO_TENSORS = _pattern(
    r"There were no tensor arguments to this function.*?for schema (?P<operator>\S+?)\.\s"
    r"(?:.*?Available functions are \[(?P<keys>[^\]]*)\])?"
)
META = _pattern(r"(?P<operator>[\w:.]+): attempted to run this operator with Meta tensors")
AMBIGUOUS = _pattern(
    r"(?P<operator>[\w:.]+) has kernels registered to both (?:CompositeImplicitAutograd|Math) and a backend mapped to"
)
KINDS = {"no kernel": NO_KERNEL, "no tensors": NO_TENSORS, "meta": META, "ambiguous": AMBIGUOUS}
"""The errors, and the patterns of their texts."""

LINE = re.compile(
    r"^\W*(?P<key>[A-Za-z_]\w*): (?P<through>fallthrough )?(?P<where>\S.*?)\s*\[(?P<reason>[a-z ]+)\]\s*$",
    re.MULTILINE,
)
"""The pattern of a line of the table below the error: ``CPU: registered at FILE:LINE [kernel]``."""


class Line(Struct, frozen=True):
    """A dispatch table entry as the error's table shows it."""

    key: str
    fallthrough: bool
    where: str
    reason: str


class Message(Struct, frozen=True):
    """The contents of an error."""

    kind: str
    """The kind: ``no kernel``, ``no tensors``, ``meta`` or ``ambiguous``."""
    operator: str
    key: str
    """The key without a kernel; empty if the error names none."""
    keys: tuple[str, ...]
    """The list in brackets."""
    lines: tuple[Line, ...]
    """The table below the message, which older releases do not print."""


def find_message(text: str) -> Message | None:
    """Return the first of these errors in a text, or None if there is none."""
    found = [(match.start(), kind, match) for kind, pattern in KINDS.items() if (match := pattern.search(text))]
    if not found:
        return None
    start, kind, match = min(found, key=lambda found: found[0])
    groups = match.groupdict()
    keys = tuple(re.findall(r"\w+", groups.get("keys") or ""))
    lines = tuple(
        Line(line["key"], bool(line["through"]), line["where"], line["reason"]) for line in LINE.finditer(text, start)
    )
    return Message(kind, groups["operator"].removesuffix("."), groups.get("key") or "", keys, lines)

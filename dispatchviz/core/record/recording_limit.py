"""How much of a program is recorded at most."""

from __future__ import annotations

import re
from typing import NamedTuple

from dispatchviz.errors import DispatchvizError


class Limit(NamedTuple):
    """How much of a program is recorded."""

    events: int | None = None
    bytes: int | None = None

    def reached(self, events: int, size: int) -> str:
        """Which limit is reached; empty if none is."""
        if self.events is not None and events >= self.events:
            return f"the limit of {self.events:,} events is reached"
        if self.bytes is not None and size >= self.bytes:
            return f"the limit of {self.bytes:,} bytes is reached"
        return ""


NO_LIMIT = Limit()


UNITS = {"": 0, "k": 10**3, "m": 10**6, "g": 10**9, "kb": 10**3, "mb": 10**6, "gb": 10**9}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "b": 1}


def read_limit(text: str | None) -> Limit:
    """``1000000`` is a number of events, ``500MB`` the size of the file. Raises DispatchvizError for all others."""
    if text is None:
        return Limit()
    match = re.fullmatch(r"([0-9_]{1,18})\s*([a-z]*)", text.strip().lower())
    number = int(match[1].replace("_", "") or 0) if match else 0
    if match is None or not number or match[2] not in UNITS:
        raise DispatchvizError(
            f"the limit {text!r} means nothing: write a number of events (1000000) or a size (500MB, 2GiB), above 0"
        )
    unit = UNITS[match[2]]
    return Limit(bytes=number * unit) if unit else Limit(events=number)

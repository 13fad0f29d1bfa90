"""How much is recorded at most: what ``--limit`` means."""

from __future__ import annotations

import re

from dispatchviz.core.record.trace_stream import Limit
from dispatchviz.errors import DispatchvizError

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
            f"--limit {text} is no limit: write a number of events (1000000) or a size (500MB, 2GiB), above 0"
        )
    unit = UNITS[match[2]]
    return Limit(bytes=number * unit) if unit else Limit(events=number)

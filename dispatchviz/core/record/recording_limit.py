"""The limits of a recording."""

from __future__ import annotations

import re
import shutil
from typing import NamedTuple

from dispatchviz.foundation.errors import DispatchvizError


class Limit(NamedTuple):
    """The limits of a recording: a number of events, a number of bytes, or none."""

    events: int | None = None
    bytes: int | None = None
    chosen: bool = True
    """True if the user chose it; False for the default limit."""

    def on_disk_of(self, folder: str) -> Limit:
        """Return the limit of a file in a folder. The default limit leaves half of the disk's free space."""
        if self.chosen or self.bytes is None:
            return self
        return self._replace(bytes=min(self.bytes, shutil.disk_usage(folder).free // 2))

    def reached(self, events: int, size: int) -> str:
        """Return a sentence about the limit that is reached; empty if none is."""
        if self.events is not None and events >= self.events:
            return f"the limit of {self.events:,} events is reached"
        if self.bytes is not None and size >= self.bytes:
            return f"the {'' if self.chosen else 'default '}limit of {self.bytes:,} bytes is reached{self._remedy}"
        return ""

    @property
    def _remedy(self) -> str:
        return "" if self.chosen else " (limit none removes it, limit 20GB sets another)"


NO_LIMIT = Limit()
DEFAULT_LIMIT = Limit(bytes=4 * 10**9, chosen=False)
"""The default limit, about twenty million events. A file on a disk with less than twice that gets half of the free
space.
"""
MOST_IN_MEMORY = 5_000_000
"""The approximate number of events after which a recording in memory ends: about two gigabytes."""
REACHED_IN_MEMORY = (
    f"the default limit of about {MOST_IN_MEMORY:,} events in memory is reached (record(limit=...) sets another, "
    "record(save=...) writes to a file)"
)
NONE = "none"
"""The text for ``NO_LIMIT``."""


UNITS = {"": 0, "k": 10**3, "m": 10**6, "g": 10**9, "kb": 10**3, "mb": 10**6, "gb": 10**9}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "b": 1}


def end_before(step: int, reason: str) -> str:
    """The sentence that a recording ended before its program did."""
    return f"the recording ended before step {step}: {reason}"


def read_limit(text: str | None) -> Limit:
    """Read a limit: ``1000000`` is a number of events, ``500MB`` the size of the file, ``none`` no limit, and None the
    default one.

    Raise DispatchvizError for any other text.
    """
    if text is None:
        return DEFAULT_LIMIT
    if text.strip().lower() == NONE:
        return NO_LIMIT
    match = re.fullmatch(r"([0-9_]{1,18})\s*([a-z]*)", text.strip().lower())
    number = int(match[1].replace("_", "") or 0) if match else 0
    if match is None or not number or match[2] not in UNITS:
        raise DispatchvizError(
            f"the limit {text!r} is not valid: write a number of events (1000000) or a size (500MB, 2GiB), above 0, "
            "or none"
        )
    unit = UNITS[match[2]]
    return Limit(bytes=number * unit) if unit else Limit(events=number)

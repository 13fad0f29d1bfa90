"""What may differ, with reasons. An entry that nothing needs any more is an error."""

from __future__ import annotations

import re
from typing import NamedTuple

UNINITIALISED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
"""Operators whose numbers are not compared."""


class Known(NamedTuple):
    """A difference that is allowed."""

    check: str
    """A regular expression for the whole name of the check."""
    difference: str
    """A regular expression for some of its text."""
    reason: str

    def covers(self, check: str, difference: str) -> bool:
        """Whether it is this one."""
        return bool(re.fullmatch(self.check, check) and re.search(self.difference, difference))


KNOWN: dict[str, tuple[Known, ...]] = {}
"""By the OpInfo's full name."""

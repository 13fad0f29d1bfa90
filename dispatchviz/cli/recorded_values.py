"""The limits within which commands record the numbers of tensors."""

from __future__ import annotations

from typing import NamedTuple


class RecordedValues(NamedTuple):
    """The arguments of ``running.program.run`` for recorded numbers."""

    values: int
    """The most elements that a tensor with recorded numbers has; 0 records none."""
    most_values: int
    """How many times numbers are recorded at most; 0 is no limit."""


NONE, SMALL, ALL_SMALL = RecordedValues(0, 0), RecordedValues(16, 1_000), RecordedValues(16, 0)
"""No numbers; the default, which is cheap in a long program; and ``--values``."""


def recorded_values(wanted: bool | None) -> RecordedValues:
    """Read ``--values`` (True), ``--no-values`` (False) or neither (None)."""
    if wanted is None:
        return SMALL
    return ALL_SMALL if wanted else NONE

"""Of which tensors commands record the numbers, and how many times."""

from __future__ import annotations

from typing import NamedTuple


class RecordedValues(NamedTuple):
    """Arguments of ``running.program.run``."""

    values: int
    """The largest number of elements of a tensor whose numbers are recorded; 0: none are."""
    most_values: int
    """The largest number of times; 0: no limit."""


NONE, SMALL, ALL_SMALL = RecordedValues(0, 0), RecordedValues(16, 1_000), RecordedValues(16, 0)
"""Without numbers; what commands record by themselves, which costs a long program little; ``--values``."""


def recorded_values(wanted: bool | None, model: bool) -> RecordedValues:
    """What ``--values`` or ``--no-values`` asks for, or neither (None): an installed PyTorch gives none."""
    if wanted is None:
        return SMALL if model else NONE
    return ALL_SMALL if wanted else NONE

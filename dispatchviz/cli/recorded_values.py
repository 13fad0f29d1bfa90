"""The limits within which commands record numbers of tensors."""

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
    """Read ``--values`` (True), ``--no-values`` (False) or neither (None). A recording of PyTorch has no numbers."""
    if wanted is None:
        return SMALL if model else NONE
    return ALL_SMALL if wanted else NONE

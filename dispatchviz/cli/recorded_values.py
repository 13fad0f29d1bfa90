"""Of which tensors commands record the numbers, and how many times."""

from __future__ import annotations

from typing import NamedTuple


class RecordedValues(NamedTuple):
    """A limit of each; 0 elements: no numbers are recorded."""

    elements: int
    """Tensors of so many elements at most."""
    times: int
    """How many times at most; 0: no limit."""


NONE, SMALL, ALL_SMALL = RecordedValues(0, 0), RecordedValues(16, 2_000), RecordedValues(16, 0)
"""Without numbers; what commands record by themselves, which costs a long program little; ``--values``."""


def recorded_values(wanted: bool | None, model: bool) -> RecordedValues:
    """What ``--values`` or ``--no-values`` asks for, or neither (None): an installed PyTorch gives none."""
    if wanted is None:
        return SMALL if model else NONE
    return ALL_SMALL if wanted else NONE

"""Numbers in a recording, made from the serial numbers in its notes.

An event names a tensor, and the next one names it again: both share one integer, or one tuple if they have nothing but
that tensor. That saves a third of the memory of small programs' traces.

Rule 1: the number of kept objects is bounded. A tensor that is named again after a long time may get another, equal
integer.
"""

from __future__ import annotations

MOST = 1 << 12
"""The largest number of kept objects."""


class Numbers(dict[int, int]):
    """The numbers that count from 0 in a recording, by the serial numbers of the process."""

    first = 0
    """The serial number from which the recording counts."""

    def __missing__(self, serial: int) -> int:
        if len(self) == MOST:
            self.clear()
        number = self[serial] = serial - self.first
        return number


class Singles(dict[int, tuple[int]]):
    """The tuples with the number of one tensor, by its serial number."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, serial: int) -> tuple[int]:
        if len(self) == MOST:
            self.clear()
        single = self[serial] = (self._numbers[serial],)
        return single


class Labels(dict[int, str]):
    """The names of tensors in texts, ``t5``, by their serial numbers."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, serial: int) -> str:
        if len(self) == MOST:
            self.clear()
        label = self[serial] = f"t{self._numbers[serial]}"
        return label

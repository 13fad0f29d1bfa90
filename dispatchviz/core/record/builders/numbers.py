"""Numbers in a recording, made of the serial numbers in its notes.

An event names a tensor, the next one names it again: both have one integer, and where they have nothing but that one
tensor, one tuple. That is a third of what a trace of small programs takes.

Rule 1: what is kept here is bounded; a tensor that is named after a long time may get another, equal integer.
"""

from __future__ import annotations

MOST = 1 << 12
"""Numbers that are kept."""


class Numbers(dict[int, int]):
    """From serial numbers of the process to numbers that count from 0 in a recording."""

    first = 0
    """The serial number from which the recording counts."""

    def __missing__(self, serial: int) -> int:
        if len(self) == MOST:
            self.clear()
        number = self[serial] = serial - self.first
        return number


class Singles(dict[int, tuple[int]]):
    """From the serial number of one tensor to the tuple of its number alone."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, serial: int) -> tuple[int]:
        if len(self) == MOST:
            self.clear()
        single = self[serial] = (self._numbers[serial],)
        return single


class Labels(dict[int, str]):
    """From the serial number of a tensor to its name in texts, ``t5``."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, serial: int) -> str:
        if len(self) == MOST:
            self.clear()
        label = self[serial] = f"t{self._numbers[serial]}"
        return label

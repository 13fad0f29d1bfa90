"""Steps as sequences that cost nothing: a list with one step more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class WithOne(Sequence[int]):
    """Sorted steps and one more among them."""

    def __init__(self, steps: Sequence[int], index: int, step: int) -> None:
        self._steps, self._index, self._step = steps, index, step

    def __len__(self) -> int:
        return len(self._steps) + 1

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        if index == self._index:
            return self._step
        return self._steps[index - (index > self._index)]

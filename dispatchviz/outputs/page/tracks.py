"""The contents of a pane from step to step: its lists of lines, each once, and the steps at which the list changes.

A list is written as its difference from the one before it. Some lists are written whole, so that a page can rebuild any
list from a few others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dispatchviz.outputs.page.written_numbers import written

WHOLE_EVERY = 24
"""The number of lists after which one is written whole."""

LEFT_OUT = -1
"""The mark of a step whose list is not in the file."""


class Track:
    """The lists of one pane. Steps must be added in order."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, ...], int] = {}
        self._steps: list[int] = []
        self._shown: list[int] = []

    def show(self, at: int, rows: tuple[int, ...]) -> None:
        """Show these lines from a step on."""
        self._note(at, self._lists.setdefault(rows, len(self._lists)))

    def leave_out(self, at: int) -> None:
        """Mark the lines as unknown from a step on."""
        self._note(at, LEFT_OUT)

    def _note(self, at: int, shown: int) -> None:
        if not self._shown or self._shown[-1] != shown:
            self._steps.append(at)
            self._shown.append(shown)

    def data(self) -> dict[str, object]:
        """Return the track as the file contains it: steps and numbers of lists as differences."""
        steps, shown = written(differences(self._steps)), written(differences(self._shown))
        return {"steps": steps, "shown": shown, "lists": encoded(self._lists)}


def differences(numbers: Iterable[int], first: int = 0) -> list[int]:
    """Return each number minus the one before it, and the first minus ``first``."""
    return [after - before for before, after in pairwise((first, *numbers))]


def encoded(lists: Iterable[tuple[int, ...]]) -> list[list[int]]:
    """Return each list in one of two forms.

    A whole list begins with -1, and its numbers follow as differences. The other form gives how many numbers at the
    beginning and the end are the same as in the list before, and then the numbers between. The first of them is the
    difference from the number in its place before.
    """
    found: list[list[int]] = []
    before: tuple[int, ...] = ()
    for number, numbers in enumerate(lists):
        found.append(_whole(numbers) if number % WHOLE_EVERY == 0 else _changed(before, numbers))
        before = numbers
    return found


def _whole(numbers: Sequence[int]) -> list[int]:
    return [-1, *differences(numbers)]


def _changed(before: Sequence[int], numbers: Sequence[int]) -> list[int]:
    most = min(len(before), len(numbers))
    begin = next((at for at in range(most) if before[at] != numbers[at]), most)
    end = next((at for at in range(most - begin) if before[-1 - at] != numbers[-1 - at]), most - begin)
    between = numbers[begin : len(numbers) - end]
    return [begin, end, *differences(between, before[begin] if begin < len(before) else 0)]

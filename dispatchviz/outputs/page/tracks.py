"""What a pane shows from step to step: its lists of lines, each once, and at which steps another one is shown.

A list is written as what differs from the one before it, and now and then whole, so that a page finds any of them by a
few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dispatchviz.outputs.page.written_numbers import written

WHOLE_EVERY = 24
"""After so many lists one is written whole."""

LEFT_OUT = -1
"""Shown where a step's list is not in the file."""


class Track:
    """The lists of one pane; steps must be told in order."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, ...], int] = {}
        self._steps: list[int] = []
        self._shown: list[int] = []

    def show(self, at: int, rows: tuple[int, ...]) -> None:
        """From a step on these lines are shown."""
        self._note(at, self._lists.setdefault(rows, len(self._lists)))

    def leave_out(self, at: int) -> None:
        """From a step on nothing is known."""
        self._note(at, LEFT_OUT)

    def _note(self, at: int, shown: int) -> None:
        if not self._shown or self._shown[-1] != shown:
            self._steps.append(at)
            self._shown.append(shown)

    def data(self) -> dict[str, object]:
        """The track as it stands in the file: steps and numbers of lists as differences."""
        steps, shown = written(differences(self._steps)), written(differences(self._shown))
        return {"steps": steps, "shown": shown, "lists": encoded(self._lists)}


def differences(numbers: Iterable[int], first: int = 0) -> list[int]:
    """Each number less the one before it, the first less ``first``."""
    return [after - before for before, after in pairwise((first, *numbers))]


def encoded(lists: Iterable[tuple[int, ...]]) -> list[list[int]]:
    """Each list whole, behind -1, or as how many begin and end as the one before does, and what is between:
    its first number as a difference, too, from the one in its place before."""
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

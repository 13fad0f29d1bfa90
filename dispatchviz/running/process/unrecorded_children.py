"""Processes that a recorded program begins and that the trace does not have, as sentences for its header.

The sentences have no process numbers: the same program gives the same trace.
"""

from __future__ import annotations

from collections.abc import Callable

FORKED, NEW_PYTHON = "forked process", "new Python process"


class UnrecordedChildren:
    """Counts them by their kind, and keeps before which step the first one began."""

    def __init__(self, steps: Callable[[], int]) -> None:
        """``steps`` tells how many steps are recorded so far."""
        self._steps = steps
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}

    def forked(self, number: int) -> None:
        """The program forked a child."""
        self._add(FORKED)

    def begun(self, number: int) -> None:
        """The program began a new Python."""
        self._add(NEW_PYTHON)

    def _add(self, kind: str) -> None:
        if kind not in self._first:
            self._first[kind] = self._steps()
        self._count[kind] = self._count.get(kind, 0) + 1

    def sentences(self) -> tuple[str, ...]:
        """A sentence for each kind."""
        return tuple(_sentence(kind, self._count.get(kind, 1), step) for kind, step in self._first.items())


def _sentence(kind: str, count: int, step: int) -> str:
    if count == 1:
        return f"a {kind} was not recorded: it began before step {step}"
    return f"{count} {kind}es were not recorded: the first began before step {step}"

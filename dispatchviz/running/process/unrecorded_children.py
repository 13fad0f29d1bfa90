"""Sentences for a trace's header about child processes that are not in the trace.

The sentences have no process numbers, so the same program gives the same trace.
"""

from __future__ import annotations

from collections.abc import Callable

FORKED, NEW_PYTHON = "forked process", "new Python process"


class UnrecordedChildren:
    """The number of children of each kind, and the step before which the first one began."""

    def __init__(self, steps: Callable[[], int]) -> None:
        """Create the counter. ``steps`` returns the number of steps recorded so far."""
        self._steps = steps
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}

    def forked(self, number: int) -> None:
        """Count a child that the program forked."""
        self._add(FORKED)

    def begun(self, number: int) -> None:
        """Count a new Python that the program began."""
        self._add(NEW_PYTHON)

    def _add(self, kind: str) -> None:
        if kind not in self._first:
            self._first[kind] = self._steps()
        self._count[kind] = self._count.get(kind, 0) + 1

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each kind."""
        return tuple(_sentence(kind, self._count.get(kind, 1), step) for kind, step in self._first.items())


def _sentence(kind: str, count: int, step: int) -> str:
    if count == 1:
        return f"a {kind} was not recorded: it began before step {step}"
    return f"{count} {kind}es were not recorded: the first began before step {step}"

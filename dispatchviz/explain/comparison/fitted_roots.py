"""The order of a recording's events at the beginning of a backward.

The engine fits the gradients that it is given to their Nodes (``validate_outputs``): it casts and sums them. Then the
backward starts. A recorder of an installed PyTorch begins earlier, where Python enters the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dispatchviz.core.record import events as ev

ADDITIONS = "aten::add.Tensor", "aten::add_.Tensor"
"""The operators with which the engine adds the gradients of a root that is given twice, after the backward starts."""


def fitted_first(events: Iterable[ev.AnyEvent]) -> Iterator[ev.AnyEvent]:
    """Yield the events of a recording, with the calls that fit given gradients before the backward and outside it."""
    roots: _Roots | None = None
    for event in events:
        if roots is not None and (fits := roots.add(event)) is not None:
            yield fits
            continue
        if roots is not None:
            yield roots.started
            roots = None
        if isinstance(event, ev.BackwardStarted):
            roots = _Roots(event)
        else:
            yield event
    if roots is not None:
        yield roots.started


class _Roots:
    """A backward whose first Node has not run yet."""

    def __init__(self, started: ev.BackwardStarted) -> None:
        self._started = started
        self._takes: dict[int, int] = {}
        """The tensor that each call of the engine takes first."""
        self._kernels: dict[int, int] = {}
        """The call that each of their kernels belongs to."""
        self._fitted: dict[int, int] = {}
        """The result for each tensor that a call takes."""
        self._inside = set[int]()

    @property
    def started(self) -> ev.BackwardStarted:
        """The backward, with the fitted gradients."""
        return replace(self._started, gradients=tuple(map(self._fit, self._started.gradients)))

    def _fit(self, tensor: int | None) -> int | None:
        while tensor in self._fitted:
            tensor = self._fitted[tensor]
        return tensor

    def add(self, event: ev.AnyEvent) -> ev.AnyEvent | None:
        """Return an event of a call that fits a gradient, now outside the backward. Return None for another event."""
        parent = event.parent
        if isinstance(event, ev.Dispatched) and parent == self._started.seq and event.operator not in ADDITIONS:
            self._inside.add(event.seq)
            return replace(event, parent=self._started.parent)
        if parent not in self._inside:
            return None
        self._inside.add(event.seq)
        if isinstance(event, ev.KeySetComputed) and event.arguments:
            self._takes[parent] = event.arguments[0][1]
        elif isinstance(event, ev.KernelEntered):
            self._kernels[event.seq] = parent
        elif isinstance(event, ev.KernelReturned) and event.tensors:
            self._returned(parent, event.tensors[0])
        return event

    def _returned(self, kernel: int, result: int | None) -> None:
        given = self._takes.get(self._kernels.get(kernel, -1))
        if given is not None and result is not None and given != result:
            self._fitted[given] = result

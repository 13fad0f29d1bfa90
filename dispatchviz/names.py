"""Which variable names which tensor: decides when a NameBound event is worth telling.

A tensor keeps the first name that it got, as long as that name is still its own: ``h = x`` does not rename ``x``.
When ``x`` goes to another tensor, the first one is told again under a name that is left to it, if any.
"""

from __future__ import annotations

import weakref
from typing import Any

from dispatchviz.core.record.notes import Recorder
from dispatchviz.core.tensor.tensor import Tensor

Place = tuple[str, str]
"""The function that a variable belongs to (empty: the module), and its name."""


class Names:
    """The names of one recording. Holds its tensors weakly, so that none lives longer for being watched."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._holds: dict[Place, weakref.ref[Tensor]] = {}
        self._told: dict[int, Place] = {}
        """By the recorder's number: a tensor as a dictionary key would be compared by a dispatched ``==``."""

    def bind(self, scope: str, name: str, value: Any) -> None:
        """A variable now has a value, a tensor or anything else."""
        place = (scope, name)
        held = self._holds.get(place)
        before = None if held is None else held()
        if value is before:
            return
        if isinstance(value, Tensor):
            self._holds[place] = weakref.ref(value)
            self._tell(value, place)
        else:
            self._holds.pop(place, None)
        if before is not None and self._told.get(before._number) == place:
            self._tell_another(before)

    def _tensor_at(self, place: Place) -> Tensor | None:
        held = self._holds.get(place)
        return None if held is None else held()

    def _tell(self, tensor: Tensor, place: Place) -> None:
        told = self._told.get(tensor._number)
        if told is None or self._tensor_at(told) is not tensor:
            self._recorder.name_bound(place[1], tensor)
            self._told[tensor._number] = place

    def _tell_another(self, tensor: Tensor) -> None:
        left = next((place for place in self._holds if self._tensor_at(place) is tensor), None)
        if left is not None:
            self._tell(tensor, left)

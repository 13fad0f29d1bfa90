"""Which variable names which tensor: decides when there is a NameBound event.

A tensor keeps the first name that it got, as long as that name is still its own: ``h = x`` does not rename ``x``.
When ``x`` goes to another tensor, the first one gets another event, with a name that is left to it, if any.
"""

from __future__ import annotations

import weakref
from typing import Any

from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.tensor.tensor import Tensor

Variable = tuple[str, str]
"""The function that a variable belongs to (empty: the module), and its name."""


class Names:
    """The names of one recording. Holds its tensors weakly, so that none lives longer for being watched."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._holds: dict[Variable, weakref.ref[Tensor]] = {}
        self._recorded: dict[int, Variable] = {}
        """By the recorder's number: a tensor as a dictionary key would be compared by a dispatched ``==``."""

    def bind(self, scope: str, name: str, value: Any) -> None:
        """A variable now has a value, a tensor or anything else."""
        variable = (scope, name)
        held = self._holds.get(variable)
        before = None if held is None else held()
        if value is before:
            return
        if isinstance(value, Tensor):
            self._holds[variable] = weakref.ref(value)
            self._record(value, variable)
        else:
            self._holds.pop(variable, None)
        if before is not None and self._recorded.get(before._number) == variable:
            self._record_another(before)

    def _tensor_of(self, variable: Variable) -> Tensor | None:
        held = self._holds.get(variable)
        return None if held is None else held()

    def _record(self, tensor: Tensor, variable: Variable) -> None:
        recorded = self._recorded.get(tensor._number)
        if recorded is None or self._tensor_of(recorded) is not tensor:
            self._recorder.name_bound(variable[1], tensor)
            self._recorded[tensor._number] = variable

    def _record_another(self, tensor: Tensor) -> None:
        left = next((variable for variable in self._holds if self._tensor_of(variable) is tensor), None)
        if left is not None:
            self._record(tensor, left)

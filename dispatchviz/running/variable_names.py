"""The names of tensors: which variable names which tensor, and when there is a NameBound or NameUnbound event.

A tensor keeps the first name that it got, as long as that name still refers to it: ``h = x`` does not rename ``x``. A
tensor that a function called ``h`` and returned gets the caller's name, because ``h`` is over with the function. When
``x`` gets another tensor, the first one gets another event with one of its remaining names, if it has any.

Values within a variable's value have names too: a module's parameters by their paths, the items of a list. A module
that is part of another gets the names of the outermost one.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.running.held_tensors import HOLDS_NOTHING, held_by, is_module, is_tensor

Variable = tuple[str, str]
"""The function that a variable belongs to (empty: the module), and the variable's name, or the text for a value that it
holds.
"""

MANY = 1 << 10
"""The smallest number of tensors, some of which may be dead, whose names a recording keeps."""


class Names:
    """The names of one recording. It holds its tensors weakly, so that none lives longer because of it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._holds: dict[Variable, weakref.ref[Tensor]] = {}
        self._recorded: dict[int, tuple[Variable, weakref.ref[Tensor]]] = {}
        """Names by the recorder's number of a tensor. A tensor as a dictionary key would be compared by a dispatched
        ``==``.
        """
        self._many = MANY
        """The number of entries of ``_recorded`` above which those of dead tensors are removed."""
        self._names: dict[Variable, tuple[int, int]] = {}
        """The tensor's number and the iteration for each recorded name."""
        self._others: dict[int, dict[Variable, None]] = {}
        """Variables that got a tensor which had a name already, by its number."""
        self._latest: dict[str, Variable] = {}
        """The variable that was recorded last, by its name."""
        self.shadowed: dict[str, list[Variable]] = {}
        """For each function, the outside variables that it hides by variables of the same name while it runs."""
        self.running: set[str] = set()
        """Functions that have bound a variable and are not over. NB: all calls of a recursive function count as one.
        When the inner one is over, so are the outer one's names until it binds another.
        """
        self._below: dict[Variable, tuple[Variable, ...]] = {}
        """A mapping from variables to the names of the tensors that their values hold."""
        self._holders: dict[Variable, weakref.ref[Any]] = {}
        """A mapping from variables to modules that are part of no other, and to other objects that hold tensors."""
        self._parts: dict[int, tuple[weakref.ref[Any], Variable, str]] = {}
        """A mapping from the ``id`` of these objects, and of modules within, to the variable of the outermost one and
        the path.
        """
        self.changed: dict[Variable, None] = {}
        """Variables whose values hold something else by now, in order."""
        self.seen_again: dict[Variable, None] = {}
        """Variables that are visible again because the function that hid them is over, in order."""
        self.unsettled = False
        """True if ``settle`` may have something to do."""

    def bind(self, scope: str, name: str, value: Any, iteration: int = 0) -> None:
        """Note that a variable has a value, which may be a tensor. ``iteration`` is the iteration of its line, or 0 if
        unknown.
        """
        variable = (scope, name)
        if scope:
            self.running.add(scope)
        if self.seen_again:
            self.seen_again.pop(variable, None)
            self.see_again()
        plain = type(value) in HOLDS_NOTHING
        if variable in self._below:
            if value is None or variable not in self._holders or self._holders[variable]() is not value:
                self._hold_again(variable, value)
        elif not plain and not is_tensor(value):
            self._hold(variable, value)
        if not plain and is_tensor(value):
            self._set(variable, value, iteration)
        elif variable in self._holds:
            self._set(variable, None)

    def bind_item(self, scope: str, name: str, tensor: Any) -> None:
        """Note that the value of a variable holds a tensor. ``name`` is the text for it: ``net.weight``."""
        self._set((scope, name), tensor)

    def check(self, scopes: Mapping[str, Mapping[str, Any]]) -> None:
        """Forget names that no longer hold, given the variables of the functions that run: bindings were not followed
        for a while.
        """
        for scope in self.running.difference(scopes):
            self.left(scope)
        for variable in [one for one in self._holds if one[0] in scopes and not _is_item(one)]:
            value = scopes[variable[0]].get(variable[1])
            if value is not self._tensor_of(variable):
                self.bind(*variable, value)
        for variable in [one for one in self._below if one[0] in scopes]:
            self._hold_again(variable, scopes[variable[0]].get(variable[1]))

    def holds(self, variable: Variable, value: Any) -> bool:
        """Return whether a variable is known to have this tensor."""
        held = self._holds.get(variable)
        return held is not None and held() is value

    def by_tensor(self) -> dict[int, tuple[weakref.ref[Tensor], str]]:
        """Return the names of all living tensors, by the ``id`` of each."""
        found = {}
        for variable in self._names:
            if (held := self._holds.get(variable)) is not None and (tensor := held()) is not None:
                found[id(tensor)] = held, variable[1]
        return found

    def left(self, scope: str) -> None:
        """Note that a function is over or waits. The variables that it hid are visible again."""
        self.running.discard(scope)
        if hidden := self.shadowed.pop(scope, None):
            self.seen_again.update(dict.fromkeys(hidden))
            self.unsettled = True

    def see_again(self) -> None:
        """Name the tensors of variables that are visible again, on the program's current line."""
        again, self.seen_again = self.seen_again, {}
        for variable in again:
            tensor, named = self._tensor_of(variable), self._names.get(variable)
            if tensor is not None and named is not None and self._latest.get(variable[1]) != variable:
                self._record_name(variable, tensor, named[1])

    def holder_changed(self, holder: Any) -> None:
        """Note that an object has another tensor or module as an attribute, or one less."""
        known = self._parts.get(id(holder))
        if known is not None and known[0]() is holder:
            self.changed[known[1]] = None
            self.unsettled = True

    def module_name(self, module: Any) -> str:
        """Return the path of a module behind the variable that holds the outermost one; empty if there is none."""
        if self.changed:
            self.look_again()
        known = self._parts.get(id(module))
        return known[2] if known is not None and known[0]() is module else ""

    def settle(self) -> None:
        """Name everything that was postponed, because a line begins."""
        self.unsettled = False
        if self.changed:
            self.look_again()
        if self.seen_again:
            self.see_again()

    def look_again(self) -> None:
        """Name the tensors that changed modules and other objects hold now."""
        changed, self.changed = self.changed, {}
        for variable in changed:
            held = self._holders.get(variable)
            if held is not None:
                self._hold_again(variable, held())

    # -- what a value holds -------------------------------------------------------------------------------------------

    def _hold_again(self, variable: Variable, value: Any) -> None:
        """Name the tensors that a value holds, and remove names for which it no longer has a tensor."""
        before = self._below.pop(variable, ())
        self._holders.pop(variable, None)
        if type(value) not in HOLDS_NOTHING and not is_tensor(value):
            self._hold(variable, value)
        kept = frozenset(self._below.get(variable, ()))
        for one in before:
            if one not in kept:
                self._set(one, None)

    def _hold(self, variable: Variable, value: Any) -> None:
        if self._is_part(value, variable):
            return
        scope, name = variable
        below = []
        for text, held in held_by(value, lambda held: self._is_part(held, variable)):
            if is_tensor(held):
                below.append((scope, name + text))
                self._set(below[-1], held)
            else:
                self._parts[id(held)] = weakref.ref(held), variable, name + text
        if below or is_module(value):  # a module without parameters is not searched again at each call
            self._below[variable] = tuple(below)
            if type(value).__weakrefoffset__:
                self._holders[variable] = weakref.ref(value)
                self._parts[id(value)] = self._holders[variable], variable, name

    def _is_part(self, value: Any, variable: Variable) -> bool:
        """Return whether a value is a module that another variable names already, or part of that variable's value."""
        known = self._parts.get(id(value))
        return known is not None and known[0]() is value and known[1] != variable and known[1] in self._below

    # -- one name -----------------------------------------------------------------------------------------------------

    def _set(self, variable: Variable, value: Tensor | None, iteration: int = 0) -> None:
        held, named = self._holds.get(variable), self._names.get(variable)
        before = None if held is None else held()
        if value is None:
            self._holds.pop(variable, None)
        elif value is before:
            return
        else:
            self._holds[variable] = weakref.ref(value)
            self._record(value, variable, iteration)
        if named is not None and self._names.get(variable) is named:
            del self._names[variable]
            self._recorder.name_unbound(variable[1], named[0])
        if before is not None and self._recorded_name(self._recorder.number_of(before)) == variable:
            self._record_another(before)

    def _tensor_of(self, variable: Variable) -> Tensor | None:
        held = self._holds.get(variable)
        return None if held is None else held()

    def _record(self, tensor: Tensor, variable: Variable, iteration: int = 0) -> None:
        number = self._recorder.number_of(tensor)
        recorded = self._recorded_name(number)
        named = None if recorded is None else self._names.get(recorded)
        if recorded is None or named is None or named[0] != number:
            self._record_name(variable, tensor, iteration)
        elif self._is_over(recorded):
            del self._names[recorded]
            self._record_name(variable, tensor, iteration)
        elif _is_longer_path(variable, recorded):
            self._record_name(variable, tensor, iteration)
            self._others.setdefault(number, {})[recorded] = None
        else:
            self._others.setdefault(number, {})[variable] = None

    def _record_name(self, variable: Variable, tensor: Tensor, iteration: int) -> None:
        scope, name = variable
        self._recorder.name_bound(name, tensor, iteration)
        number = self._recorder.number_of(tensor)
        if len(self._recorded) > self._many:
            self._forget_dead()
        self._recorded[number] = variable, weakref.ref(tensor)
        self._names[variable] = number, iteration
        if scope:
            hidden = self._latest.get(name, variable)
            if hidden != variable:
                self.shadowed.setdefault(scope, []).append(hidden)
        self._latest[name] = variable

    def _recorded_name(self, number: int) -> Variable | None:
        """Return the variable after which a tensor is named."""
        known = self._recorded.get(number)
        return None if known is None else known[0]

    def _forget_dead(self) -> None:
        """Remove the entries of dead tensors. A number is never used again."""
        self._recorded = {number: known for number, known in self._recorded.items() if known[1]() is not None}
        self._others = {number: names for number, names in self._others.items() if number in self._recorded}
        self._many = max(MANY, 2 * len(self._recorded))

    def _is_over(self, variable: Variable) -> bool:
        """Return whether the variable's function is over."""
        return bool(variable[0]) and variable[0] not in self.running

    def _record_another(self, tensor: Tensor) -> None:
        """Record one of the remaining names. A variable of its own is better than an item."""
        number = self._recorder.number_of(tensor)
        names = [
            one for one in self._others.pop(number, ()) if self._tensor_of(one) is tensor and not self._is_over(one)
        ]
        if names:
            left = min(names, key=_is_item)
            names.remove(left)
            self._others[number] = dict.fromkeys(names)
            self._record_name(left, tensor, 0)


def _is_item(variable: Variable) -> bool:
    return not variable[1].isidentifier()


def _is_longer_path(variable: Variable, other: Variable) -> bool:
    """Return whether a module with this parameter proves to be part of another module."""
    return 0 < other[1].count(".") < variable[1].count(".")

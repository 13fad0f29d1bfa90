"""Which variable names which tensor: decides when there is a NameBound event, and when a NameUnbound.

A tensor keeps the first name that it got, as long as that name is still its own: ``h = x`` does not rename ``x``. What
a function called ``h`` and returned goes by the name that the caller gives it: ``h`` is over with the function.
When ``x`` goes to another tensor, the first one gets another event, with a name that is left to it, if any.

What a variable's value holds has names too: a module's parameters by their paths, the items of a list. A module that is
part of another has the names of the outermost.
"""

from __future__ import annotations

import weakref
from typing import Any

from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.running.held_tensors import HOLDS_NOTHING, held_by, is_tensor

Variable = tuple[str, str]
"""The function that a variable belongs to (empty: the module), and its name, or how what it holds is written."""

MANY = 1 << 10
"""A recording keeps the names of at least so many tensors that may be dead."""


class Names:
    """The names of one recording. Holds its tensors weakly, so that none lives longer for being watched."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._holds: dict[Variable, weakref.ref[Tensor]] = {}
        self._recorded: dict[int, tuple[Variable, weakref.ref[Tensor]]] = {}
        """By the recorder's number: a tensor as a dictionary key would be compared by a dispatched ``==``."""
        self._many = MANY
        """If ``_recorded`` has more entries than this, all those of dead tensors are removed."""
        self._names: dict[Variable, tuple[int, int]] = {}
        """What each is the recorded name of: the tensor's number, and the turn."""
        self._others: dict[int, dict[Variable, None]] = {}
        """Variables that got a tensor which had a name already, by its number."""
        self._latest: dict[str, Variable] = {}
        """Of the variables that are called alike the one that was recorded last."""
        self.shadowed: dict[str, list[Variable]] = {}
        """By function, the variables outside of it that cannot be seen while it runs: it has one that is called so."""
        self.running: set[str] = set()
        """Functions that have bound a variable and are not over. NB: of one that calls itself, all calls are one: when
        the inner one is over, so are the outer one's names until it binds another."""
        self._below: dict[Variable, tuple[Variable, ...]] = {}
        """Variables to the names of what their values hold."""
        self._holders: dict[Variable, weakref.ref[Any]] = {}
        """Variables to modules that are part of no other, and to other objects that hold tensors."""
        self._parts: dict[int, tuple[weakref.ref[Any], Variable, str]] = {}
        """``id`` of those, and of modules within, to the variable of the outermost and to their path."""
        self.changed: dict[Variable, None] = {}
        """Variables whose values hold something else by now, in order."""
        self.seen_again: dict[Variable, None] = {}
        """Variables that were hidden by one of a function that is over, in order."""
        self.unsettled = False
        """``settle`` may have something to do."""

    def bind(self, scope: str, name: str, value: Any, turn: int = 0) -> None:
        """A variable now has a value, a tensor or anything else; in which turn of its line, if that can be told."""
        variable = (scope, name)
        if scope:
            self.running.add(scope)
        if self.seen_again:
            self.seen_again.pop(variable, None)
            self.see_again()
        plain = type(value) in HOLDS_NOTHING
        if variable in self._below:
            if not (variable in self._holders and self._holders[variable]() is value):
                self._hold_again(variable, value)
        elif not plain and not is_tensor(value):
            self._hold(variable, value)
        if not plain and is_tensor(value):
            self._set(variable, value, turn)
        elif variable in self._holds:
            self._set(variable, None)

    def left(self, scope: str) -> None:
        """A function is over, or waits: what it hid can be seen again."""
        self.running.discard(scope)
        if hidden := self.shadowed.pop(scope, None):
            self.seen_again.update(dict.fromkeys(hidden))
            self.unsettled = True

    def see_again(self) -> None:
        """Name what can be seen again, on the line that the program is on."""
        again, self.seen_again = self.seen_again, {}
        for variable in again:
            tensor, named = self._tensor_of(variable), self._names.get(variable)
            if tensor is not None and named is not None and self._latest.get(variable[1]) != variable:
                self._record_name(variable, tensor, named[1])

    def holder_changed(self, holder: Any) -> None:
        """Another tensor or module is an attribute of it, or one less."""
        known = self._parts.get(id(holder))
        if known is not None and known[0]() is holder:
            self.changed[known[1]] = None
            self.unsettled = True

    def module_name(self, module: Any) -> str:
        """The path of a module behind the variable that holds the outermost one; empty if none does."""
        if self.changed:
            self.look_again()
        known = self._parts.get(id(module))
        return known[2] if known is not None and known[0]() is module else ""

    def settle(self) -> None:
        """A line begins: what was put off is named now."""
        self.unsettled = False
        if self.changed:
            self.look_again()
        if self.seen_again:
            self.see_again()

    def look_again(self) -> None:
        """Name what changed modules and other objects hold now."""
        changed, self.changed = self.changed, {}
        for variable in changed:
            held = self._holders.get(variable)
            if held is not None:
                self._hold_again(variable, held())

    # -- what a value holds -------------------------------------------------------------------------------------------

    def _hold_again(self, variable: Variable, value: Any) -> None:
        """Name what the value holds, and takes the names away that it no longer has a tensor for."""
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
        if below:
            self._below[variable] = tuple(below)
            if type(value).__weakrefoffset__:
                self._holders[variable] = weakref.ref(value)
                self._parts[id(value)] = self._holders[variable], variable, name

    def _is_part(self, value: Any, variable: Variable) -> bool:
        """Return whether a value is a module that another variable names already, or is part of what that names."""
        known = self._parts.get(id(value))
        return known is not None and known[0]() is value and known[1] != variable and known[1] in self._below

    # -- one name -----------------------------------------------------------------------------------------------------

    def _set(self, variable: Variable, value: Tensor | None, turn: int = 0) -> None:
        held, named = self._holds.get(variable), self._names.get(variable)
        before = None if held is None else held()
        if value is None:
            self._holds.pop(variable, None)
        elif value is before:
            return
        else:
            self._holds[variable] = weakref.ref(value)
            self._record(value, variable, turn)
        if named is not None and self._names.get(variable) is named:
            del self._names[variable]
            self._recorder.name_unbound(variable[1], named[0])
        if before is not None and self._recorded_name(self._recorder.number_of(before)) == variable:
            self._record_another(before)

    def _tensor_of(self, variable: Variable) -> Tensor | None:
        held = self._holds.get(variable)
        return None if held is None else held()

    def _record(self, tensor: Tensor, variable: Variable, turn: int = 0) -> None:
        number = self._recorder.number_of(tensor)
        recorded = self._recorded_name(number)
        named = None if recorded is None else self._names.get(recorded)
        if recorded is None or named is None or named[0] != number:
            self._record_name(variable, tensor, turn)
        elif self._is_over(recorded):
            del self._names[recorded]
            self._record_name(variable, tensor, turn)
        elif _is_longer_path(variable, recorded):
            self._record_name(variable, tensor, turn)
            self._others.setdefault(number, {})[recorded] = None
        else:
            self._others.setdefault(number, {})[variable] = None

    def _record_name(self, variable: Variable, tensor: Tensor, turn: int) -> None:
        scope, name = variable
        self._recorder.name_bound(name, tensor, turn)
        number = self._recorder.number_of(tensor)
        if len(self._recorded) > self._many:
            self._forget_dead()
        self._recorded[number] = variable, weakref.ref(tensor)
        self._names[variable] = number, turn
        if scope:
            hidden = self._latest.get(name, variable)
            if hidden != variable:
                self.shadowed.setdefault(scope, []).append(hidden)
        self._latest[name] = variable

    def _recorded_name(self, number: int) -> Variable | None:
        """The variable that a tensor is called after."""
        known = self._recorded.get(number)
        return None if known is None else known[0]

    def _forget_dead(self) -> None:
        """Remove the entries of dead tensors: a number is never used again."""
        self._recorded = {number: known for number, known in self._recorded.items() if known[1]() is not None}
        self._others = {number: names for number, names in self._others.items() if number in self._recorded}
        self._many = max(MANY, 2 * len(self._recorded))

    def _is_over(self, variable: Variable) -> bool:
        """Return whether the function that has the variable is."""
        return bool(variable[0]) and variable[0] not in self.running

    def _record_another(self, tensor: Tensor) -> None:
        """A name that is left, rather a variable of its own than an item of one."""
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
    """Return whether a module that has a parameter turns out to be part of another one."""
    return 0 < other[1].count(".") < variable[1].count(".")

"""Names of tensors that a program made before the part that is recorded: the variables that hold them when they are
first met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from dispatchviz.running.call_sites import is_base, is_users, scope_of
from dispatchviz.running.held_tensors import HOLDS_NOTHING, held_by, is_module, is_tensor
from dispatchviz.running.variable_names import Variable

if TYPE_CHECKING:
    from types import FrameType

    from dispatchviz.live.live_recorder import LiveRecorder

Scope = tuple[str, dict[str, Any]]
"""A function of the program (empty: the module), and its variables."""


class EarlierNames:
    """The variables of the program's functions that run when a part begins."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._scopes: list[Scope] = []
        """The running functions, innermost first."""
        self._held: dict[int, tuple[ref[Any], Variable]] = {}
        """The tensors that variables held when they were last looked through, by ``id``."""
        self._modules: dict[int, tuple[ref[Any], Variable]] = {}
        """The same for modules."""
        self._holders: list[tuple[Variable, int]] = []
        """The variables that were looked through, with the ``id`` of the value of each."""
        self._are_read = False

    def look(self, frame: FrameType | None) -> None:
        """Note the functions that run, and forget names that no longer hold."""
        self._scopes, self._are_read = [], False
        while frame is not None and not is_base(frame, self._watch.base):
            if is_users(frame.f_code):
                self._scopes.append((scope_of(frame.f_code), frame.f_locals))
            frame = frame.f_back
        self._watch.names.check(dict(reversed(self._scopes)))

    def forget(self) -> None:
        """Forget the functions, whose variables would otherwise live longer."""
        self._scopes = []

    def name(self, tensor: Any) -> None:
        """Record the name of a tensor that is met for the first time, if a variable holds it."""
        for scope, variables in self._scopes:
            for name, value in list(variables.items()):
                if value is tensor:
                    self._watch.names.bind(scope, name, tensor)
                    return
        if (known := self._in_value(tensor)) is not None:
            self._watch.names.bind_item(*known, tensor)

    def module_name(self, module: Any) -> str:
        """Return the path of a module behind the variable that holds the outermost one; empty if there is none."""
        known = self._modules.get(id(module))
        if (known is None or known[0]() is not module) and not self._are_read:
            self._read()
            known = self._modules.get(id(module))
        return "" if known is None or known[0]() is not module else known[1][1]

    def _in_value(self, tensor: Any) -> Variable | None:
        """Return the name of a tensor that the value of a variable holds: a parameter, an item of a list."""
        known = self._held.get(id(tensor))
        if (known is None or known[0]() is not tensor) and not self._are_read:
            self._read()
            known = self._held.get(id(tensor))
        return None if known is None or known[0]() is not tensor else known[1]

    def _read(self) -> None:
        self._are_read = True
        holders = [
            ((scope, name), value)
            for scope, variables in reversed(self._scopes)
            for name, value in list(variables.items())
            if type(value) not in HOLDS_NOTHING and not is_tensor(value)
        ]
        if self._holders == (now := [(variable, id(value)) for variable, value in holders]):
            return  # the same values as last time: what they do not hold has no name
        self._holders = now
        self._held.clear()
        self._modules.clear()
        for variable, value in sorted(holders, key=lambda one: not is_module(one[1])):
            self._read_value(variable, value)

    def _read_value(self, variable: Variable, value: Any) -> None:
        scope, name = variable
        if id(value) not in self._modules:
            for text, held in held_by(value, lambda one: id(one) in self._modules):
                found = self._held if is_tensor(held) else self._modules
                found.setdefault(id(held), (ref(held), (scope, name + text)))

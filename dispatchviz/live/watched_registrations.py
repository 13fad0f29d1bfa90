"""Operators and kernels that a program registers while it is watched. Their cells are then watched too.

Our kernels of an operator leave its cells while its registrations change, so PyTorch's messages stay as usual. Then
they are put in front of the new kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.live.early_kernels import Registered, key_of, operator_of
from dispatchviz.live.kernel_calls import warning_of_override
from dispatchviz.running.call_sites import is_users

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.registration import Registration

Rows = list[tuple["Registration", str]]
"""Registrations, each with the name of its kernel."""
Function = Callable[..., Any]


@contextmanager
def registrations_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Record the program's registrations inside the block."""
    follower = _Follower(torch, watch)
    library, module, ops = torch.library.Library, torch._C._DispatchModule, torch._ops._Ops
    replaced: list[tuple[Any, str, Function]] = [
        (library, "define", follower.define),
        (library, "impl", follower.impl),
        (library, "_impl_with_aoti_compile", follower.impl_compiled),
        (library, "_register_fake", follower.register_fake),
        (library, "fallback", follower.fallback),
        (module, "reset", follower.reset),
        (ops, "load_library", follower.load),
    ]
    before = [(owner, name, vars(owner)[name], new) for owner, name, new in replaced if name in vars(owner)]
    for owner, name, original, new in before:
        setattr(owner, name, _instead_of(original, new))
    try:
        yield
    finally:
        for owner, name, original, _ in before:
            setattr(owner, name, original)


def _instead_of(original: Function, new: Function) -> Function:
    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return new(original, *args, **kwargs)

    return function


class _Follower:
    """The functions that replace PyTorch's functions for registration."""

    def __init__(self, torch: Any, watch: LiveRecorder) -> None:
        self._c, self._watch = torch._C, watch
        self._of_library: dict[int, set[str]] = {}
        """Operators of each library, by the ``id`` of its C++ object."""

    def define(self, original: Function, library: Any, schema: Any, *args: Any, **kwargs: Any) -> Any:
        """Record ``Library.define``."""
        name = str(schema).partition("(")[0].strip()
        with self._changed(self._operators(library, name)):
            return original(library, schema, *args, **kwargs)

    def impl(
        self, original: Function, library: Any, name: Any, fn: Any, dispatch_key: Any = "", *args: Any, **kwargs: Any
    ) -> Any:
        """Record ``Library.impl``."""
        operators = self._operators(library, name)
        with self._changed(operators):
            key = key_of(library, dispatch_key)
            with warning_of_override(self._c, filter(self._watch.operators.is_defined, operators), key):
                result = original(library, name, fn, dispatch_key, *args, **kwargs)
            new = Registered(fn, bool(kwargs.get("with_keyset", False)), id(library.m))
            for operator in operators:
                self._watch.cells.python.registered(operator, key, new)
            return result

    def impl_compiled(self, original: Function, library: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        """Record ``Library._impl_with_aoti_compile``."""
        with self._changed(self._operators(library, name)):
            return original(library, name, *args, **kwargs)

    def register_fake(self, original: Function, library: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        """Record ``Library._register_fake``, which checks whether there is a kernel for Meta."""
        with self._changed(self._operators(library, name)):
            return original(library, name, *args, **kwargs)

    def fallback(self, original: Function, library: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``Library.fallback``. NB: the fallback is not read, and the cells that it fills are not watched."""
        if recorder.listening is self._watch:
            self._watch.settle()
        return original(library, *args, **kwargs)

    def reset(self, original: Function, module: Any) -> Any:
        """Record that a library is deleted with its kernels."""
        names = self._of_library.pop(id(module), set())
        with self._changed(names):
            self._watch.cells.python.gone(id(module))
            return original(module)

    def load(self, original: Function, ops: Any, *args: Any, **kwargs: Any) -> Any:
        """Record ``torch.ops.load_library``. NB: kernels that a file registers for existing operators are not seen."""
        before = self._names()
        try:
            return original(ops, *args, **kwargs)
        finally:
            with self._changed(self._names() - before):
                pass

    def _names(self) -> set[str]:
        return set(self._c._dispatch_get_all_op_names())

    def _operators(self, library: Any, named: Any) -> tuple[str, ...]:
        """Return the full name of an operator, and note that it belongs to the library."""
        full = operator_of(library, named)
        try:
            self._c._dispatch_dump(full)
        except RuntimeError as error:  # it is not a name
            if is_from_outside(error):
                raise
            return ()
        self._of_library.setdefault(id(library.m), set()).add(full)
        return (full,)

    @contextmanager
    def _changed(self, names: Iterable[str]) -> Iterator[None]:
        """Let the registrations of operators change inside the block, and emit the events for it."""
        watch, names = self._watch, sorted(names)
        if names and watch in (recorder.listening, recorder.suspended):
            watch.settle()  # earlier notes describe the old cells
        before = {name: self._known(name) for name in names}
        watch.cells.lift(names)
        try:
            yield
        finally:
            for name in names:
                watch.operators.forget(name)
                if recorder.listening is watch and not _is_importing():
                    self._emit_changes(name, before[name])
            watch.cells.lift(names)  # the code within may have put them back
            watch.cells.put_again([name for name in names if watch.operators.is_defined(name)])

    def _known(self, name: str) -> tuple[bool, Rows]:
        """Return whether an operator is defined, and its kernels."""
        operators = self._watch.operators
        return operators.is_defined(name), list(operators.registered(name))

    def _emit_changes(self, name: str, before: tuple[bool, Rows]) -> None:
        """Emit the events of the changes to an operator."""
        watch, (was_defined, rows_before) = self._watch, before
        is_defined, rows = self._known(name)
        if is_defined and not was_defined:
            watch._emit(ev.OperatorDefined, name, *watch.operators.definition(name))
        added, removed = _more(rows, rows_before), _more(rows_before, rows)
        for (row, kernel), is_removed in [*((row, False) for row in added), *((row, True) for row in removed)]:
            watch._emit(ev.KernelRegistered, name, row.key, _name(row, kernel), is_removed)


def _is_importing() -> bool:
    """Return whether a library that is being imported registers, rather than the program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        if frame.f_code.co_filename == IMPORTER:
            return True
        frame = frame.f_back
    return False


IMPORTER = "<frozen importlib._bootstrap>"
"""The file of the frames of an import."""


def _name(row: Registration, kernel: str) -> str:
    """Return the name of a registered kernel, or its place for a C++ function, whose name is unknown."""
    return FALLTHROUGH if row.kind == "fallthrough" else kernel or row.place


def _more(now: Rows, before: Rows) -> Rows:
    """Return the registrations that were not there before."""
    rest = before.copy()
    found = []
    for row in now:
        if row in rest:
            rest.remove(row)
        else:
            found.append(row)
    return found

"""The kernel in front of Python's fallback. It records which ``__torch_dispatch__`` is about to be called.

The mode stack and the arguments decide which one that is, as in ``pythonFallback``
(``aten/src/ATen/core/PythonFallbackKernel.cpp``) and ``handle_torch_function_no_python_arg_parser``
(``torch/csrc/utils/python_arg_parser.cpp``). ``core/python_side/torch_dispatch.py`` has the same rules for the model.
NB: if the first handler returns NotImplemented, the next one is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import after_Python_keyset, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_cells import Step
    from dispatchviz.live.watched_operators import WatchedCell, WatchedOperator

_MODE_KEYS = raw(DispatchKey.Python, DispatchKey.PythonTLSSnapshot)
"""The keys that are included while a mode is active."""


def handler_step(watch: LiveRecorder, cell: WatchedCell, call: Step) -> Step:
    """Return a function that calls the fallback through ``call``. It runs within the kernel that records the cell."""
    handlers = _Handlers(watch)

    def step(*args: Any, **kwargs: Any) -> Any:  # the key set is the first
        if recorder.listening is not watch or not watch.thread.watched:
            return call(*args, **kwargs)
        owner = handlers.entered(cell.operator, args, kwargs)
        if owner is None:
            return call(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
            handlers.left(owner, result)
            return result
        finally:
            if recorder.listening is watch:
                watch.leave()

    return step


class _Handlers:
    """The handlers of ``__torch_dispatch__``, as events."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch, self._c = watch, watch.torch._C

    def entered(self, operator: WatchedOperator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Emit the event of the handler that comes first. Return the name of its class, or None if there is no
        handler.
        """
        watch, c = self._watch, self._c
        modes = c._len_torch_dispatch_stack()
        overloaded = self._overloaded(one for one in operator.given(args, kwargs) if one is not None)
        if not modes and not overloaded:
            return None
        owner = type(c._get_dispatch_stack_at(modes - 1) if modes else overloaded[0]).__name__
        included = watch.keys[c._dispatch_tls_local_include_set().raw_repr()]
        excluded = watch.keys[c._dispatch_tls_local_exclude_set().raw_repr()] | after_Python_keyset
        watch._emit_span(
            ev.TorchDispatchEntered,
            "mode" if modes else "subclass",
            owner,
            _overload(operator.name),
            tuple(type(one).__name__ for one in overloaded),
            tuple((name, self._text(value)) for name, value in _named(args[1:], kwargs)),
            included if modes > 1 else included & ~_MODE_KEYS,
            excluded,
            max(modes - 1, 0),
        )
        return owner

    def left(self, owner: str, result: Any) -> None:
        """Emit the event that the handler returned."""
        watch = self._watch
        if recorder.listening is watch:
            results = result if isinstance(result, (tuple, list)) else (result,)
            tensors = tuple(watch._tensor(one) for one in results if isinstance(one, watch.torch.Tensor))
            watch._emit(ev.TorchDispatchLeft, owner, tensors, False)

    def _overloaded(self, tensors: Iterable[Any]) -> list[Any]:
        """Return one tensor of each class that has the Python key, in the order in which they are handled."""
        found: list[Any] = []
        for tensor in tensors:
            if self._is_python(tensor) and all(type(tensor) is not type(known) for known in found):
                bases = (i for i, known in enumerate(found) if isinstance(tensor, type(known)))
                found.insert(next(bases, len(found)), tensor)
        return found

    def _is_python(self, tensor: Any) -> bool:
        c = self._c
        return isinstance(tensor, self._watch.torch.Tensor) and bool(c._dispatch_keys(tensor).has(c.DispatchKey.Python))

    def _text(self, value: Any) -> str:
        """Return the text of an argument."""
        if isinstance(value, self._watch.torch.Tensor):
            return f"t{self._watch._tensor(value)}"
        if isinstance(value, self._watch.torch.UntypedStorage):  # str() of it calls operators for each byte
            return "<UntypedStorage>"
        if type(value) in (list, tuple):
            return "[" + ", ".join(map(self._text, value)) + "]"
        return repr(value) if isinstance(value, str) else str(value)


def _overload(name: str) -> str:
    """Return an operator's name as PyTorch's handlers print it: ``aten.add.Tensor``."""
    return name.replace("::", ".") if "." in name else f"{name.replace('::', '.')}.default"


def _named(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [*((f"args[{i}]", value) for i, value in enumerate(args)), *kwargs.items()]

"""``TorchDispatchMode`` and the stack of modes (``torch/utils/_python_dispatch.py``).

NB: PyTorch also has infrastructure modes with a place of their own (fake tensors, functionalization, proxies) and modes
of the PreDispatch key. Here every mode is an ordinary one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.python_side.dispatch_modes import EnteredMode
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import restore_state
from dispatchviz.torch.python_keys import (
    _get_dispatch_stack_at,
    _len_torch_dispatch_stack,
    _pop_torch_dispatch_stack,
    _push_on_torch_dispatch_stack,
)

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_in_torch_dispatch_mode"]

_open_blocks = 0
"""The number of open ``with`` blocks of modes."""


class TorchDispatchMode:
    """Base class of modes that intercept every operator called inside ``with mode:``, below autograd.

    Subclasses define ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``. The mode does not intercept the
    calls that it makes itself.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("modes of the PreDispatch key are not in dispatchviz's model yet")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        global _open_blocks
        _open_blocks += 1
        entered = EnteredMode(self)
        entered.__enter__()
        self.__dict__.setdefault("_entered", []).append(entered)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        global _open_blocks
        _open_blocks -= 1
        entered = self.__dict__["_entered"].pop()
        try:
            entered.__exit__(exc_type, exc_val, exc_tb)
        except BaseException:
            restore_state(entered._saved_state)
            raise

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: the model has no infrastructure modes."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Return the compiler's setting. The model has no compiler."""
        return cls.is_infra_mode()


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a ``with`` block of a mode is open, even while its own handler runs."""
    return _open_blocks > 0


def _get_current_dispatch_mode() -> Any:
    """Return the newest mode, which intercepts the next call, or None."""
    count = _len_torch_dispatch_stack()
    return _get_dispatch_stack_at(count - 1) if count else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return all modes, the newest last."""
    return [_get_dispatch_stack_at(index) for index in range(_len_torch_dispatch_stack())]


def _push_mode(mode: Any) -> None:
    _push_on_torch_dispatch_stack(mode)


def _pop_mode(k: Any = None) -> Any:
    """Pop the newest mode. Raise RuntimeError if there is none."""
    return _pop_torch_dispatch_stack(k)


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Remove the newest mode from the stack for a block. Raise RuntimeError if there is none."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Remove all modes from the stack for a block, and yield them."""
    modes = [_pop_mode() for _ in range(_len_torch_dispatch_stack())]
    try:
        yield modes
    finally:
        for mode in reversed(modes):
            _push_mode(mode)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return the outputs of a wrapper's handler with the aliasing that the schema declares.

    An operator that writes to arguments returns these arguments. The results of a view operator share the storage of
    the wrapper that they view. NB: in PyTorch, operators that change sizes in place (``t_``) also change those of the
    wrapper.
    """
    schema = func._entry.schema
    given = dict(zip([a.name for a in schema.arguments], args, strict=False)) | dict(kwargs or {})
    aliased = {a.alias.partition("->")[0].strip(" !"): given.get(a.name) for a in schema.arguments if a.alias}
    results = list(out) if isinstance(out, tuple) and len(schema.returns) > 1 else [out]
    pairs = zip(schema.returns, results, strict=True)
    corrected = [_corrected(declared, result, aliased) for declared, result in pairs]
    return corrected[0] if len(corrected) == 1 else tuple(corrected)


def _corrected(declared: Any, result: Any, aliased: dict[str, Any]) -> Any:
    source = aliased.get((declared.alias or "").strip(" !"))
    if source is None:
        return result
    if declared.is_write:
        return source
    for view in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(view, Tensor) and isinstance(source, Tensor):
            view._storage = source._storage
    return result

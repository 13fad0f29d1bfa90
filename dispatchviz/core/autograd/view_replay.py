"""Views of tensors whose memory is not theirs to stride over: the view operators are called again, on another base.

For plain tensors a stale view's history is an ``as_strided`` of the base. A tensor with the Python key has no memory
that autograd knows of, so PyTorch keeps functions (``ViewFunc`` of ``torch/csrc/autograd/variable.h``) that make the
view anew. The Python fallback says here which operator made a view; ``as_view`` takes it from here.

NB: in PyTorch, wrappers of functorch and functionalization have such functions too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatchviz.core.dispatcher import boxed_keys, call
from dispatchviz.core.keys import KEY_BITS, DispatchKey
from dispatchviz.core.tensor import Tensor, ViewMeta

if TYPE_CHECKING:
    from dispatchviz.core.operator import OperatorEntry

_PYTHON = KEY_BITS[DispatchKey.Python]
_NOTE = "_view_func"
"""Attribute of a tensor between its making and ``as_view``."""


class ViewFunc(NamedTuple):
    """One view operator, with its arguments after the base."""

    op: OperatorEntry
    args: tuple[Any, ...]
    position: int | None
    """Which of several results; None if there is one."""

    def __call__(self, base: Tensor) -> Tensor:
        """The same view of another base, through the dispatcher."""
        function, ks = call(self.op, boxed_keys(self.op, (base, *self.args)))
        result: Any = function(ks, base, *self.args)
        view: Tensor = result if self.position is None else result[self.position]
        return view


class ReplayedViewMeta(ViewMeta):
    """That of a view which is made anew by calling the operators that made it, from the root base on."""

    __slots__ = ("view_funcs",)

    view_funcs: tuple[ViewFunc, ...]


def note(op: OperatorEntry, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """A handler has run ``op``: if that makes views of a Python-keyed tensor, the results remember the call."""
    first = op.schema.arguments[0] if op.schema.arguments else None
    if first is None or first.alias is None or first.is_write or not arguments[0]._ks & _PYTHON:
        return
    args = tuple(arguments[1:])
    for result in results:
        if isinstance(result, Tensor):
            setattr(result, _NOTE, ViewFunc(op, args, None))
        elif isinstance(result, (list, tuple)):
            for index, part in enumerate(result):
                setattr(part, _NOTE, ViewFunc(op, args, index))


def replayed(tensor: Tensor, base: Tensor) -> tuple[ViewFunc, ...]:
    """The operators from the root base to ``tensor``, a new view of ``base``; empty if they are not known."""
    last = tensor.__dict__.pop(_NOTE, None)
    view = base._view
    if last is None or (view is not None and not isinstance(view, ReplayedViewMeta)):
        return ()
    return (*(view.view_funcs if isinstance(view, ReplayedViewMeta) else ()), last)


def replay(view_funcs: Sequence[ViewFunc], base: Tensor) -> Tensor:
    """The view of another base."""
    for view_func in view_funcs:
        base = view_func(base)
    return base

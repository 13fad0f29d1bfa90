"""ViewFunc: views that are not an ``as_strided`` of their base are replayed on another base.

For plain tensors a stale view's history is an ``as_strided`` of the base. A tensor with the Python key has no memory
that autograd can see, and ``_conj``, ``_neg_view``, ``view_as_real`` and ``view_as_complex`` read memory in another
way. So PyTorch keeps functions (``ViewFunc`` of ``torch/csrc/autograd/variable.h``) that replay the view. The Python
fallback reports here which operator made a view; for the four operators the tensors show it. ``as_view`` reads it from
here.

NB: in PyTorch, wrappers of functorch and functionalization have these functions too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatchviz.core.call.aten import find
from dispatchviz.core.call.dispatcher import boxed_keys, call
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.tensor.conj_neg_bits import CONJUGATE, NEGATIVE
from dispatchviz.core.tensor.tensor import Tensor, ViewMeta

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

_PYTHON = KEY_BITS[DispatchKey.Python]
_BITS = CONJUGATE | NEGATIVE
_NOTE = "_view_func"
"""The attribute of a tensor between its creation and ``as_view``."""


class ViewFunc(NamedTuple):
    """One view operator, with its arguments after the base."""

    op: OperatorEntry
    args: tuple[Any, ...]
    position: int | None
    """The index among several results; None if there is one."""

    def __call__(self, base: Tensor) -> Tensor:
        """Return the same view of another base, by a call of the dispatcher."""
        function, ks = call(self.op, boxed_keys(self.op, (base, *self.args)))
        result: Any = function(ks, base, *self.args)
        view: Tensor = result if self.position is None else result[self.position]
        return view


class ReplayedViewMeta(ViewMeta):
    """The ViewMeta of a view that is replayed by its operators, from the root base on."""

    __slots__ = ("view_funcs",)

    view_funcs: tuple[ViewFunc, ...]


def record_view(op: OperatorEntry, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """Record the call of ``op`` by a handler on its results, if it makes views of a tensor with the Python key."""
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


def chained(tensor: Tensor, base: Tensor) -> tuple[ViewFunc, ...]:
    """The operators from the root base to ``tensor``, a new view of ``base``, for plain tensors (``ViewInfo::chain``).

    Empty if an ``as_strided`` is enough. The views before and after one of the four operators are an ``as_strided``
    each.
    """
    view = base._view
    before = view.view_funcs if isinstance(view, ReplayedViewMeta) else ()
    changing = _changing(tensor, base)
    if changing is None:
        return (*before, _as_strided(tensor)) if before else ()
    if not before and view is not None:
        before = (_as_strided(base),)
    return (*before, changing)


def reads_memory_differently(tensor: Tensor, base: Tensor) -> bool:
    """Return whether one of the four operators made the view."""
    return tensor._dtype is not base._dtype or bool((tensor._ks ^ base._ks) & _BITS)


def _changing(tensor: Tensor, base: Tensor) -> ViewFunc | None:
    bits = (tensor._ks ^ base._ks) & _BITS
    if tensor._dtype is base._dtype and not bits:
        return None
    if tensor._dtype is not base._dtype:
        name = "view_as_real" if base._dtype.is_complex else "view_as_complex"
    else:
        name = "_conj" if bits & CONJUGATE else "_neg_view"
    return ViewFunc(find(f"aten::{name}"), (), None)


def _as_strided(tensor: Tensor) -> ViewFunc:
    return ViewFunc(find("aten::as_strided"), (tensor._size, tensor._stride, tensor._offset), None)


def replay(view_funcs: Sequence[ViewFunc], base: Tensor) -> Tensor:
    """Return the view of another base."""
    for view_func in view_funcs:
        base = view_func(base)
    return base

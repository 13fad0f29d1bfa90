"""ViewMeta: a view as functionalization remembers it, to be taken again and to be undone.

Mirrors ``ViewMeta`` of ``aten/src/ATen/FunctionalStorageImpl.h`` and the classes that PyTorch generates from it. How a
view is undone is in ``inverses.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dispatchviz.core.functionalization import inverses
from dispatchviz.core.functionalization.calls import call
from dispatchviz.core.tensor import Tensor

Inverse = Callable[..., Tensor]
"""``inverse(base, mutated_view, reapply_views, *args)``: the base with the view's new values in it.

For operators that make several views, the number of the view comes before the arguments.
"""

VIEWS: dict[str, tuple[str, Inverse]] = {
    "alias": ("alias_copy", inverses.identity),
    "detach": ("detach_copy", inverses.identity),
    "view": ("view_copy", inverses.view),
    "_unsafe_view": ("_unsafe_view", inverses.unsafe_view),
    "_reshape_alias": ("_reshape_alias_copy", inverses.reshape_alias),
    "as_strided": ("as_strided_copy", inverses.as_strided),
    "expand": ("expand_copy", inverses.expand),
    "permute": ("permute_copy", inverses.permute),
    "t": ("t_copy", inverses.t),
    "transpose.int": ("transpose_copy.int", inverses.transpose),
    "squeeze": ("squeeze_copy", inverses.squeeze),
    "squeeze.dim": ("squeeze_copy.dim", inverses.squeeze_dim),
    "squeeze.dims": ("squeeze_copy.dims", inverses.squeeze_dim),
    "unsqueeze": ("unsqueeze_copy", inverses.unsqueeze),
    "select.int": ("select_copy.int", inverses.select),
    "slice.Tensor": ("slice_copy.Tensor", inverses.slice_),
    "unbind.int": ("unbind_copy.int", inverses.unbind),
    "_conj": ("_conj_copy", inverses.conj),
    "_neg_view": ("_neg_view_copy", inverses.neg_view),
    "view_as_real": ("view_as_real_copy", inverses.view_as_real),
    "view_as_complex": ("view_as_complex_copy", inverses.view_as_complex),
}
"""Operators that make views: the operator that copies instead, and what undoes the view.

NB: in PyTorch, there are more: ``split``, ``diagonal``, ``unfold``, those of sparse tensors.
"""


class ViewMeta(Struct, eq=False):
    """One view, with its arguments."""

    view: str
    """``transpose.int``"""
    args: tuple[Any, ...]
    """All but self."""
    reapply_views: bool
    """The view itself is taken again; else the operator that copies."""
    index: int | None = None
    """Which of several views that one operator makes."""

    @property
    def is_as_strided(self) -> bool:
        """It leaves the views before it behind, so a chain that has it in its middle cannot be undone."""
        return self.view == "as_strided"

    def forward(self, base: Tensor) -> Tensor:
        """The view of a base."""
        copying, _ = VIEWS[self.view]
        result = call(self.view if self.reapply_views else copying, base, *self.args)
        view: Tensor = result if self.index is None else result[self.index]
        return view

    def reverse(self, base: Tensor, mutated_view: Tensor) -> Tensor:
        """The base with the values of a view that was written to."""
        _, inverse = VIEWS[self.view]
        index = () if self.index is None else (self.index,)
        return inverse(base, mutated_view, self.reapply_views, *index, *self.args)

"""ViewMeta: a view operator recorded by functionalization, to be replayed and inverted.

This module mirrors ``ViewMeta`` of ``aten/src/ATen/FunctionalStorageImpl.h`` and the classes that PyTorch generates
from it. The inverses are in ``view_inverses.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dispatchviz.core.layers.functionalization import view_inverses
from dispatchviz.core.layers.functionalization.operator_calls import call
from dispatchviz.core.tensor.tensor import Tensor

Inverse = Callable[..., Tensor]
"""The function ``inverse(base, mutated_view, reapply_views, *args)``, which returns the base with the view's new
values.

For operators that make several views, the index of the view comes before the arguments.
"""

VIEWS: dict[str, tuple[str, Inverse]] = {
    "alias": ("alias_copy", view_inverses.identity),
    "detach": ("detach_copy", view_inverses.identity),
    "view": ("view_copy", view_inverses.view),
    "_unsafe_view": ("_unsafe_view", view_inverses.unsafe_view),
    "_reshape_alias": ("_reshape_alias_copy", view_inverses.reshape_alias),
    "as_strided": ("as_strided_copy", view_inverses.as_strided),
    "expand": ("expand_copy", view_inverses.expand),
    "permute": ("permute_copy", view_inverses.permute),
    "t": ("t_copy", view_inverses.t),
    "transpose.int": ("transpose_copy.int", view_inverses.transpose),
    "squeeze": ("squeeze_copy", view_inverses.squeeze),
    "squeeze.dim": ("squeeze_copy.dim", view_inverses.squeeze_dim),
    "squeeze.dims": ("squeeze_copy.dims", view_inverses.squeeze_dim),
    "unsqueeze": ("unsqueeze_copy", view_inverses.unsqueeze),
    "select.int": ("select_copy.int", view_inverses.select),
    "slice.Tensor": ("slice_copy.Tensor", view_inverses.slice_),
    "unbind.int": ("unbind_copy.int", view_inverses.unbind),
    "_conj": ("_conj_copy", view_inverses.conj),
    "_neg_view": ("_neg_view_copy", view_inverses.neg_view),
    "view_as_real": ("view_as_real_copy", view_inverses.view_as_real),
    "view_as_complex": ("view_as_complex_copy", view_inverses.view_as_complex),
}
"""Operators that make views: the operator that copies instead, and the inverse.

NB: PyTorch has more: ``split``, ``diagonal``, ``unfold``, those of sparse tensors.
"""


class ViewMeta(Struct, eq=False):
    """One view, with its arguments."""

    view: str
    """The name of the operator, ``transpose.int``."""
    args: tuple[Any, ...]
    """The arguments except self."""
    reapply_views: bool
    """True if the view operator itself is replayed; else the operator that copies."""
    index: int | None = None
    """The index of the view, if the operator makes several."""

    @property
    def is_as_strided(self) -> bool:
        """True for ``as_strided``. It ignores the views before it, so a chain with it in the middle cannot be
        inverted.
        """
        return self.view == "as_strided"

    def forward(self, base: Tensor) -> Tensor:
        """Return the view of a base."""
        copying, _ = VIEWS[self.view]
        result = call(self.view if self.reapply_views else copying, base, *self.args)
        view: Tensor = result if self.index is None else result[self.index]
        return view

    def reverse(self, base: Tensor, mutated_view: Tensor) -> Tensor:
        """Return the base with the values of a view that was written to."""
        _, inverse = VIEWS[self.view]
        index = () if self.index is None else (self.index,)
        return inverse(base, mutated_view, self.reapply_views, *index, *self.args)

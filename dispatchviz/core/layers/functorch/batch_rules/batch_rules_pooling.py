"""Batch rules of pooling (``BatchRulesPooling.cpp``): the batch goes to dimension 0, or becomes more examples."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_unary import existing_bdim
from dispatchviz.core.layers.functorch.batch_rules.boxed_rules import all_tensors_have_optional_bdim, existing_bdim_all
from dispatchviz.core.layers.functorch.plumbing import BatchRule, Kernel, call_operator, plumbed
from dispatchviz.core.tensor.tensor import Tensor

_INDICES = 2
"""The position of the indices among the tensors of max pooling's backward. They are made contiguous."""


def max_pool_with_indices(name: str, features: int) -> BatchRule:
    """Return the rule of a max pooling (``max_pool_with_indices_batch_rule_helper``). An image has ``features``
    dimensions, its channels included.
    """

    def rule(self: Tensor, bdim: int, *how: Any) -> tuple[Tensor, int, Tensor, int]:
        single = rank_without_batch_dim(self, bdim) == features
        physical = move_batch_dim_to_front(self, bdim) if single else reshape_dim_into(bdim, 0, self)
        values, indices = call_operator(find(f"aten::{name}"), (physical, *how))
        if single:
            return values, 0, indices, 0
        size = self._size[bdim]
        indices = reshape_dim_outof(0, size, indices)  # PyTorch's compiler evaluates the last argument first
        return reshape_dim_outof(0, size, values), 0, indices, 0

    return rule


EXISTING_BDIM = ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d")

KERNELS: dict[str, Kernel] = {
    **{name: plumbed(name, existing_bdim(name)) for name in EXISTING_BDIM},
    **{
        name: plumbed(name, max_pool_with_indices(name, features))
        for name, features in (("max_pool2d_with_indices", 3), ("max_pool3d_with_indices", 4))
    },
}
"""Kernels for FuncTorchBatched."""
BOXED = {
    **{f"{name}_backward": existing_bdim_all for name in EXISTING_BDIM},
    "adaptive_max_pool2d": existing_bdim_all,
    "adaptive_max_pool3d": existing_bdim_all,
    "adaptive_max_pool2d_backward": all_tensors_have_optional_bdim(3, _INDICES),
    "adaptive_max_pool3d_backward": all_tensors_have_optional_bdim(4, _INDICES),
    "max_pool2d_with_indices_backward": all_tensors_have_optional_bdim(3, _INDICES),
    "max_pool3d_with_indices_backward": all_tensors_have_optional_bdim(4, _INDICES),
}
"""Boxed kernels for FuncTorchBatched."""

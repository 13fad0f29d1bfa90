"""``Tensor.__getattr__``: the error for methods that the model does not have."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.missing_names import INSTALLED, LACKS

_NAMES = frozenset(
    (
        *(
            "chalf",
            "dequantize",
            "grad_dtype",
            "hash_tensor",
            "int_repr",
            "ipu",
            "is_pinned",
            "matrix_exp",
            "module_load",
        ),
        *("mtia", "pin_memory", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale"),
        *("q_zero_point", "qscheme", "reinforce", "resize", "resize_as", "resize_as_sparse_", "set_", "share_memory_"),
        *("smm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "storage_type", "to_mkldnn"),
        *("to_padded_tensor", "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc"),
        *("to_sparse_csr", "xpu"),
    )
)


def getattr_(self: Tensor, name: str) -> Any:
    """``Tensor.__getattr__``, called where a look-up failed; its error is raised again for names that PyTorch has
    not either.

    AttributeError.
    """
    if name in _NAMES:
        raise AttributeError(f"torch.Tensor.{name} {LACKS}; {INSTALLED}", name=name, obj=self)
    return object.__getattribute__(self, name)

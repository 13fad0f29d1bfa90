"""Methods of PyTorch's tensors that the model does not have say so."""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.core.tensor import Tensor

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


def getattr_(self: Tensor, name: str) -> NoReturn:
    """``Tensor.__getattr__``: AttributeError, in Python's words for what PyTorch has not either."""
    if name in _NAMES:
        message = f"torch.Tensor.{name} is not in dispatchviz's model of PyTorch"
    else:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=self)

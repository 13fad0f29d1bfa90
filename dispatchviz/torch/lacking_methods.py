"""The error for methods of ``torch.Tensor`` that the model does not have."""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.missing_names import INSTALLED, LACKS

_NAMES = (
    *(
        "chalf",
        "dequantize",
        "grad_dtype",
        "hash_tensor",
        "int_repr",
        "ipu",
        "module_load",
    ),
    *("mtia", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale"),
    *("q_zero_point", "qscheme", "reinforce", "resize", "resize_as", "resize_as_sparse_"),
    *("smm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "storage_type", "to_mkldnn"),
    *("to_padded_tensor", "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc"),
    *("to_sparse_csr", "xpu"),
)


class LackingMethod:
    """A descriptor that raises the error where the name is looked up.

    ``Tensor.__getattr__`` could do that too. But Python calls it for every AttributeError in a property, and discards
    the error, which may come from a signal handler of the program.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Tensor | None, owner: type[Tensor]) -> NoReturn:
        """Raise AttributeError."""
        given = owner if instance is None else instance
        raise AttributeError(f"torch.Tensor.{self._name} {LACKS}; {INSTALLED}", name=self._name, obj=given)


LACKING = {name: LackingMethod(name) for name in _NAMES}

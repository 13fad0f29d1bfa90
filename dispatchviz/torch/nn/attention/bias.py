"""``torch.nn.attention.bias``: causal masks that are materialized only if no kernel has ``is_causal``
(``torch/nn/attention/bias.py``).

NB: only CUDA kernels know the lower right mask, so it is always materialized here.
"""

from __future__ import annotations

import warnings
from enum import IntEnum, auto
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner in which the diagonal starts."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask, from a variant and two sequence lengths."""

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Create a mask. Raise AssertionError for another variant; warn if rows would be empty."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _materialize(self, device: Any = None) -> Any:
        ones = torch.ones(self.seq_len_q, self.seq_len_kv, device=device or torch.device("cpu"), dtype=torch.bool)
        lower = self.variant == CausalVariant.LOWER_RIGHT
        return torch.tril(ones, diagonal=self.seq_len_kv - self.seq_len_q) if lower else torch.tril(ones)

    @staticmethod
    def _dispatch(query: Any, key: Any, value: Any, attn_mask: CausalBias, *args: Any, **kwargs: Any) -> Any:
        """Compute attention with the mask. Raise ValueError together with ``is_causal``."""
        names = ("dropout_p", "is_causal", "scale", "enable_gqa")
        options = dict(zip(names, args, strict=False)) | kwargs
        if options.pop("is_causal", False):
            raise ValueError("CausalBias should not be used with causal=True")
        upper = attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant == CausalVariant.UPPER_LEFT
        mask = None if upper else attn_mask._materialize(query.device)
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=upper, **options
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        inherited: Any = super()
        return inherited.__torch_function__(func, types, args, kwargs or {})

    def __repr__(self) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """Return a mask in which row i attends to the columns up to i."""
    return _bias_of_lengths(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return a mask in which the last row attends to every column."""
    return _bias_of_lengths(CausalVariant.LOWER_RIGHT, size)


def _bias_of_lengths(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"causal_{variant.name.lower()} only supports 2D tensors")
    return CausalBias(variant, *size)

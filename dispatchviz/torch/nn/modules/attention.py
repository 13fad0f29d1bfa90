"""``MultiheadAttention`` (``torch/nn/modules/activation.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn.init import constant_, xavier_normal_, xavier_uniform_
from dispatchviz.torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter


def blocked_by_autograd(tensors: tuple[Any, ...]) -> bool:
    """Return whether gradients or a ``__torch_function__`` rule out the fused inference operators."""
    if torch.overrides.has_torch_function(tensors):
        return True
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


class MultiheadAttention(Module):
    """Multi-head attention, with each head on its part of the embedding.

    Raise ValueError or AssertionError for an embedding that the heads cannot share. Inference on batches runs one
    operator, ``_native_multi_head_attention``.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._make_projections(bias, add_bias_kv, device, dtype)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_projections(self, bias: bool, add_bias_kv: bool, device: Any, dtype: Any) -> None:
        width = self.embed_dim
        if self._qkv_same_embed_dim:
            new_parameter(self, "in_proj_weight", (3 * width, width), device, dtype)
        for name, size in (("q", width), ("k", self.kdim), ("v", self.vdim)):
            wanted = not self._qkv_same_embed_dim
            new_parameter(self, f"{name}_proj_weight", (width, size), device, dtype, wanted)
        if not self._qkv_same_embed_dim:
            self.register_parameter("in_proj_weight", None)
        new_parameter(self, "in_proj_bias", 3 * width, device, dtype, bias)
        self.out_proj = NonDynamicallyQuantizableLinear(width, width, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            new_parameter(self, "bias_k", (1, 1, width), device, dtype)
            new_parameter(self, "bias_v", (1, 1, width), device, dtype)
        else:
            self.bias_k: Any = None
            self.bias_v: Any = None

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        """Return the output and the weights or None. Inputs and output: (length, batch, embedding), batch first, or
        unbatched.
        """
        floating = any(mask is not None and torch.is_floating_point(mask) for mask in (attn_mask, key_padding_mask))
        batched = query.dim() == 3
        other = F._none_or_dtype(attn_mask)
        key_padding_mask = F._canonical_mask(key_padding_mask, "key_padding_mask", other, "attn_mask", query.dtype)
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if self._takes_fast_path(query, key, value) and not floating:
            return self._fast_path(query, key, value, attn_mask, key_padding_mask, need_weights, average_attn_weights)
        if self.batch_first and batched:
            query, key, value = _batch_second(query, key, value)
        separate = not self._qkv_same_embed_dim
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if separate else (None, None, None)
        output, attention = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=separate,
            q_proj_weight=weights[0],
            k_proj_weight=weights[1],
            v_proj_weight=weights[2],
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if self.batch_first and batched else output), attention

    # -- inference in one operator ------------------------------------------------------------------------------------

    def _takes_fast_path(self, query: Any, key: Any, value: Any) -> bool:
        """Return whether ``why_not_fast_path`` is empty."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        return (
            torch.backends.mha.get_fastpath_enabled()
            and query.dim() == 3
            and query is key
            and key is value
            and weight is not None
            and query.dtype == weight.dtype
            and bias is not None
            and query.dtype == bias.dtype
            and not self.training
            and self.num_heads % 2 == 0
            and self.batch_first
            and self.bias_k is None
            and self.bias_v is None
            and not self.add_zero_attn
            and self._qkv_same_embed_dim
            and not torch.is_autocast_enabled()
            and not blocked_by_autograd((query, weight, bias, self.out_proj.weight, self.out_proj.bias))
        )

    def _fast_path(
        self, query: Any, key: Any, value: Any, attn_mask: Any, padding: Any, need_weights: bool, average: bool
    ) -> Any:
        mask, kind = self.merge_masks(attn_mask, padding, query)
        projections = (self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        sizes = (self.embed_dim, self.num_heads)
        return torch._native_multi_head_attention(
            query, key, value, *sizes, *projections, mask, need_weights, average, kind
        )

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, int | None]:
        """Return both masks as one for every head, and its kind: 1 for keys, 2 for pairs."""
        merged, kind = key_padding_mask, None if key_padding_mask is None else 1
        if attn_mask is None:
            return merged, kind
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + padding
        return merged, 2


def _batch_second(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """Transpose (batch, length, embedding) to (length, batch, embedding). Inputs that are one tensor stay one
    tensor.
    """
    if key is not value:
        return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
    if query is key:
        query = query.transpose(1, 0)
        return query, query, query
    query, key = query.transpose(1, 0), key.transpose(1, 0)
    return query, key, key

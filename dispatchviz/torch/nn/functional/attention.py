"""``multi_head_attention_forward``: projections, heads, weights (or the fused operator), output projection."""

from __future__ import annotations

import math
import warnings
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.functional.activations import softmax
from dispatchviz.torch.nn.functional.dropouts import dropout
from dispatchviz.torch.nn.functional.pad_fold_grid_sample import pad
from dispatchviz.torch.overrides import overridable


def _require(condition: bool, message: str, error: type[Exception] = AssertionError) -> None:
    if not condition:
        raise error(message)


# -- checks -----------------------------------------------------------------------------------------------------------


def _mha_shape_check(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Return whether there is a batch dimension. Raise AssertionError for shapes that do not fit together."""
    count = query.dim()
    _require(count in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {count}-D query tensor")
    prefix = "For batched (3-D)" if count == 3 else "For unbatched (2-D)"
    _require(
        key.dim() == value.dim() == count,
        f"{prefix} `query`, expected `key` and `value` to be {count}-D but found {key.dim()}-D and {value.dim()}-D "
        "tensors respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == count - 1,
            f"{prefix} `query`, expected `key_padding_mask` to be `None` or {count - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"{prefix} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
            "instead",
        )
        if count == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _require(
                attn_mask.shape == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return bool(count == 3)


def _none_or_dtype(input: Any) -> Any:
    return None if input is None else input.dtype


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Any:
    """Return a mask to add, of 0 and minus infinity. Raise AssertionError for a mask of integers."""
    if mask is None:
        return None
    floating = torch.is_floating_point(mask)
    _require(mask.dtype == torch.bool or floating, f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    return mask if floating else torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_attn_mask(mask: Any, targets: int, sources: int, rows: int) -> Any:
    """Return the mask with a dimension for the heads. Raise RuntimeError for other shapes."""
    count = mask.dim()
    _require(count in (2, 3), f"attn_mask's dimension {count} is not supported", RuntimeError)
    expected = (targets, sources) if count == 2 else (rows, targets, sources)
    _require(
        mask.shape == expected,
        f"The shape of the {count}D attn_mask is {mask.shape}, but should be {expected}.",
        RuntimeError,
    )
    return mask.unsqueeze(0) if count == 2 else mask


# -- projections ------------------------------------------------------------------------------------------------------


def _thirds(joint: Any, count: int, width: int) -> Any:
    return joint.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> tuple[Any, Any, Any]:
    """Project with one weight for all three inputs, with as few products as the inputs allow."""
    linear, width = torch.nn.functional.linear, q.size(-1)
    if k is v and q is k:
        joint = _thirds(linear(q, w, b), 3, width)
        return joint[0], joint[1], joint[2]
    if k is v:
        w_q, w_kv = w.split([width, width * 2])
        b_q, b_kv = (None, None) if b is None else b.split([width, width * 2])
        query = linear(q, w_q, b_q)
        joint = _thirds(linear(k, w_kv, b_kv), 2, width)
        return query, joint[0], joint[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, Any, Any]:
    """Project each input with its own weight. Raise AssertionError for shapes that do not fit."""
    width = q.size(-1)
    parts = (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v))
    for name, x, w, _ in parts:
        shape = (width, x.size(-1))
        _require(w.shape == shape, f"expecting {name} weights shape of {shape}, but got {w.shape}")
    for name, _, _, b in parts:
        fits = b is None or b.shape == (width,)
        _require(fits, f"expecting {name} bias shape of {(width,)}, but got {b.shape if b is not None else None}")
    linear = torch.nn.functional.linear
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _projections(inputs: Any, weight: Any, bias: Any, separate: bool, weights: Any) -> tuple[Any, Any, Any]:
    if not separate:
        _require(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        query, key, value = inputs
        return _in_projection_packed(query, key, value, weight, bias)
    for name, given in zip("qkv", weights, strict=True):
        _require(given is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _in_projection(*inputs, *weights, *biases)


# -- heads ------------------------------------------------------------------------------------------------------------


class _Heads:
    """Keys and values that can be extended, together with their masks."""

    def __init__(self, k: Any, v: Any, attn_mask: Any, key_padding_mask: Any) -> None:
        self.k, self.v = k, v
        self.attn_mask, self.key_padding_mask = attn_mask, key_padding_mask

    def _pad_masks(self) -> None:
        if self.attn_mask is not None:
            self.attn_mask = pad(self.attn_mask, (0, 1))
        if self.key_padding_mask is not None:
            self.key_padding_mask = pad(self.key_padding_mask, (0, 1))

    def add_biases(self, bias_k: Any, bias_v: Any, batch: int, static_k: Any, static_v: Any) -> None:
        """Append one key and value, which are parameters."""
        if bias_k is None or bias_v is None:
            _require(bias_k is None, "bias_k is set but bias_v is None")
            _require(bias_v is None, "bias_v is set but bias_k is None")
            return
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        self.k = torch.cat([self.k, bias_k.repeat(1, batch, 1)])
        self.v = torch.cat([self.v, bias_v.repeat(1, batch, 1)])
        self._pad_masks()

    def add_zeros(self, rows: int, width: int) -> None:
        """Append one key and value of zeros."""
        shape = (rows, 1, width)
        self.k = torch.cat([self.k, torch.zeros(shape, dtype=self.k.dtype, device=self.k.device)], dim=1)
        self.v = torch.cat([self.v, torch.zeros(shape, dtype=self.v.dtype, device=self.v.device)], dim=1)
        self._pad_masks()

    def merge_masks(self, batch: int, heads: int, sources: int) -> None:
        """Merge the padding mask into the attention mask."""
        padding = self.key_padding_mask
        if padding is None:
            return
        for dim, expected in enumerate((batch, sources)):
            _require(
                padding.shape[dim] == expected,
                f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got {padding.shape[dim]}",
            )
        padding = padding.view(batch, 1, 1, sources).expand(-1, heads, -1, -1).reshape(batch * heads, 1, sources)
        self.attn_mask = padding if self.attn_mask is None else self.attn_mask + padding


def _split(x: Any, rows: int, width: int) -> Any:
    """Reshape (length, batch, embedding) to (batch * heads, length, width)."""
    return x.view(x.shape[0], rows, width).transpose(0, 1)


def _static(given: Any, name: str, rows: int, width: int) -> Any:
    for dim, expected in ((0, rows), (2, width)):
        _require(given.size(dim) == expected, f"expecting {name}.size({dim}) of {expected}, but got {given.size(dim)}")
    return given


def _with_weights(q: Any, heads: _Heads, dropout_p: float) -> tuple[Any, Any]:
    """Return the output and the attention weights, by two products."""
    scaled = q * math.sqrt(1.0 / float(q.shape[2]))
    keys = heads.k.transpose(-2, -1)
    if heads.attn_mask is not None:
        weights = torch.baddbmm(heads.attn_mask, scaled, keys)
    else:
        weights = torch.bmm(scaled, keys)
    weights = softmax(weights, dim=-1)
    if dropout_p > 0.0:
        weights = dropout(weights, p=dropout_p)
    return torch.bmm(weights, heads.v), weights


def _fused(
    q: Any, heads: _Heads, sizes: tuple[int, int, int, int], sources: int, dropout_p: float, is_causal: bool
) -> Any:
    """Return the output alone, by ``scaled_dot_product_attention``."""
    batch, count, targets, width = sizes
    mask = heads.attn_mask
    if mask is not None:
        one = mask.size(0) == 1 and mask.dim() == 3
        mask = mask.unsqueeze(0) if one else mask.view(batch, count, -1, sources)
    q = q.view(batch, count, targets, width)
    k, v = heads.k.view(batch, count, sources, width), heads.v.view(batch, count, sources, width)
    output = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return output.permute(2, 0, 1, 3).reshape(batch * targets, count * width)


def _masks(
    key_padding_mask: Any, attn_mask: Any, dtype: Any, need_weights: bool, is_causal: bool
) -> tuple[Any, Any, bool]:
    """Return both masks to add, and whether the fused operator may create the causal one itself."""
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype)
    _require(
        not is_causal or attn_mask is not None,
        "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
        "`generate_square_subsequent_mask` to create this mask.",
        RuntimeError,
    )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return padding, mask, is_causal and padding is None


@overridable
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Return the output and the weights or None. Inputs and output are (length, batch, embedding), or without batch.

    Raise AssertionError or RuntimeError for shapes that do not fit together.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    targets, batch, _ = query.shape
    key_padding_mask, attn_mask, is_causal = _masks(key_padding_mask, attn_mask, query.dtype, need_weights, is_causal)
    head = _head_width(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projections((query, key, value), in_proj_weight, in_proj_bias, use_separate_proj_weight, separate)
    rows = batch * num_heads
    if attn_mask is not None:
        attn_mask = _check_attn_mask(attn_mask, targets, key.shape[0], rows)
    heads = _Heads(k, v, attn_mask, key_padding_mask)
    heads.add_biases(bias_k, bias_v, batch, static_k, static_v)
    q = q.view(targets, rows, head).transpose(0, 1)
    heads.k = _split(heads.k, rows, head) if static_k is None else _static(static_k, "static_k", rows, head)
    heads.v = _split(heads.v, rows, head) if static_v is None else _static(static_v, "static_v", rows, head)
    if add_zero_attn:
        heads.add_zeros(rows, head)
    sources = heads.k.size(1)
    heads.merge_masks(batch, num_heads, sources)
    dropout_p, out_proj = dropout_p if training else 0.0, (out_proj_weight, out_proj_bias)
    if not need_weights:
        output = _fused(q, heads, (batch, num_heads, targets, head), sources, dropout_p, is_causal)
        return _projected(output, targets, batch, out_proj, is_batched), None
    _require(not is_causal or heads.attn_mask is not None, "FIXME: is_causal not implemented for need_weights")
    output, weights = _with_weights(q, heads, dropout_p)
    output, weights = _gathered(output, weights, (batch, num_heads, targets, sources), out_proj, average_attn_weights)
    return (output, weights) if is_batched else (output.squeeze(1), weights.squeeze(0))


def _gathered(
    output: Any, weights: Any, shape: tuple[int, int, int, int], out_proj: Any, average: bool
) -> tuple[Any, Any]:
    """Return the heads side by side, projected, and the weights (batch, heads, targets, sources) or their mean over the
    heads.
    """
    batch, heads, targets, _ = shape
    output = output.transpose(0, 1).reshape(targets * batch, heads * output.size(-1))
    output = torch.nn.functional.linear(output, *out_proj)
    output, weights = output.view(targets, batch, output.size(1)), weights.view(shape)
    return output, weights.mean(dim=1) if average else weights


def _head_width(query: Any, key: Any, value: Any, expected: int, heads: int, separate: bool) -> int:
    width = query.shape[2]
    _require(width == expected, f"was expecting embedding dimension of {expected}, but got {width}")
    head = width // heads
    _require(head * heads == width, f"embed_dim {width} not divisible by num_heads {heads}")
    if separate:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
    return int(head)


def _projected(output: Any, targets: int, batch: int, out_proj: tuple[Any, Any], is_batched: bool) -> Any:
    output = torch.nn.functional.linear(output, *out_proj)
    output = output.view(targets, batch, output.size(1))
    return output if is_batched else output.squeeze(1)

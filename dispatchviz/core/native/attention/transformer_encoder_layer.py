"""``_native_multi_head_attention``, ``_transformer_encoder_layer_fwd``: fused inference kernels (``transformer.cpp``
and ``attention.cpp`` in ``aten/src/ATen/native/transformers``).

NB: in PyTorch, these also take nested tensors, and on CUDA they choose a fused kernel if there is one.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.embedding.linear_embedding import linear
from dispatchviz.core.native.iterator.scalar import element
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.linalg.matmul import matmul
from dispatchviz.core.native.shapes.split_flip_repeat import chunk, split, split_with_sizes
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- attention ---------------------------------------------------------------------------------------------------------


def native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None,
    need_weights: bool,
    average_attn_weights: bool,
    mask_type: int | None,
) -> tuple[Tensor, Any]:
    """The output, and the attention weights if they are needed. Raise RuntimeError if shapes do not fit together."""
    _check_inputs(query, key, value, embed_dim)
    _check_weights(qkv_weight, qkv_bias, embed_dim, num_head)
    projected = _projected(query, key, value, embed_dim, qkv_weight)
    if numel(projected._size) == 0:
        return ops.empty_like.call(query, None, None, None, None, None), None
    q, k, v = ops._transform_bias_rescale_qkv.call(projected, qkv_bias, num_head)
    weights = _softmax(_times_transposed(q, k), mask, mask_type)
    output = _heads_projected(_times_into(q, weights, v), proj_weight, proj_bias)
    if not need_weights:
        return output, None
    if average_attn_weights:
        weights = ops.div__Scalar.call(ops.sum_dim_IntList.call(weights, (1,), False, None), num_head)
    return output, weights


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, embed_dim: int) -> None:
    def check_dimensions(name: str, tensor: Tensor) -> None:
        if len(tensor._size) != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {len(tensor._size)}-D tensor")

    check_dimensions("query", query)
    if query._size[2] != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {query._size[2]}")
    check_dimensions("key", key)
    check_dimensions("value", value)
    if not query._size == key._size == value._size:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")


def _check_weights(weight: Tensor, bias: Tensor, embed_dim: int, num_head: int) -> None:
    if len(weight._size) != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {len(weight._size)}-D tensor")
    if weight._size[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if weight._size[1] != embed_dim:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if len(bias._size) != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {len(bias._size)}-D tensor")
    if bias._size[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if embed_dim % num_head:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


def _projected(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, weight: Tensor) -> Tensor:
    """The projections [batch, length, 3 * embed_dim]; one product if query, key and value are one tensor."""
    if key is value and query is key:
        return _times_matrix(query, weight)
    if key is value:
        own, others = split_with_sizes(weight, (embed_dim, 2 * embed_dim), 0)
        return ops.cat.call([_times_matrix(query, own), _times_matrix(key, others)], 2)
    parts = zip((query, key, value), chunk(weight, 3, 0), strict=True)
    return ops.cat.call([_times_matrix(tensor, part) for tensor, part in parts], 2)


def _times_matrix(self: Tensor, weight: Tensor) -> Tensor:
    return matmul(self, ops.t.call(weight))


def _matrices(self: Tensor) -> Tensor:
    """The matrices of all heads, stacked in one batch dimension."""
    batch, heads, *matrix = self._size
    return ops.view.call(self, (batch * heads, *matrix))


def _times_transposed(q: Tensor, k: Tensor) -> Tensor:
    """The scores of every query for every key: [batch, heads, length, length]"""
    queries, keys = _matrices(q), _matrices(k)
    product = ops.bmm.call(queries, ops.transpose_int.call(keys, 2, 1))
    return ops.view.call(product, (*q._size[:3], k._size[2]))


def _softmax(scores: Tensor, mask: Tensor | None, mask_type: int | None) -> Tensor:
    dim = len(scores._size) - 1
    if mask is None:
        return ops._softmax_out.call(scores, dim, False, scores)
    if mask._dtype is not bool_:
        mask = ops.to_dtype.call(mask, bool_, False, False, None)
    return ops._masked_softmax.call(scores, mask, dim, mask_type)


def _times_into(out: Tensor, weights: Tensor, values: Tensor) -> Tensor:
    """Write the product into the memory of the queries, which are no longer needed."""
    first, second = _matrices(weights), _matrices(values)
    flat = ops.reshape.call(out, (*first._size[:2], second._size[2]))
    return ops.view.call(ops.bmm_out.call(first, second, flat), (*weights._size[:3], values._size[3]))


def _heads_projected(heads: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    batch, count, length, width = heads._size
    together = ops.contiguous.call(ops.permute.call(heads, (0, 2, 1, 3)), "contiguous_format")
    together = ops.view.call(together, (batch, length, count * width))
    result = linear(ops.view.call(together, (batch * length, count * width)), weight, bias)
    return ops.view.call(result, (batch, length, result._size[1]))


def transform_bias_rescale_qkv(qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """The queries, keys and values of every head with their bias; queries are divided by the square root of a head's
    width.
    """
    batch, length, tripled = (qkv._size[wrap_dim(dim, len(qkv._size))] for dim in (0, 1, 2))
    width = tripled // 3
    for divisible, text in ((width % num_heads == 0, "D % num_head == 0"), (tripled % 3 == 0, "_3D % 3 == 0")):
        if not divisible:
            raise RuntimeError(f"Expected {text} to be true, but got false.  {IMPROVABLE}")
    per_head = width // num_heads
    size = (3, batch, num_heads, length, per_head)
    out = ops.empty_memory_format.call(size, qkv._dtype, "strided", qkv._device, False, None)
    for tensor in (qkv, qkv_bias):
        if not tensor._is_contiguous:
            ops.contiguous.call(tensor, "contiguous_format")
    if not qkv._dtype.is_floating_point:
        raise not_implemented("transform_bias_rescale_qkv", qkv._dtype)
    xp = array_module(qkv._device.type)
    number = accumulated(qkv._dtype).numpy
    parts = (qkv._array.astype(number) + qkv_bias._array.astype(number)).astype(qkv._dtype.numpy)
    parts = parts.reshape(batch, length, 3, num_heads, per_head).transpose(2, 0, 3, 1, 4)
    scale = number.type(element(1.0 / math.sqrt(per_head), qkv._dtype))
    store(out, xp.concatenate([(parts[:1].astype(number) * scale).astype(parts.dtype), parts[1:]]))
    q, k, v = split(ops.view.call(out, (3 * batch, *size[2:])), batch, 0)
    return q, k, v


# -- the encoder layer -------------------------------------------------------------------------------------------------


def transformer_encoder_layer_forward(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None,
    mask_type: int | None,
) -> Tensor:
    """Attention and two linear layers, each added to its input and normalized before or after."""

    def first_norm(x: Tensor) -> Tensor:
        return ops.layer_norm.call(x, (embed_dim,), norm_weight_1, norm_bias_1, eps, True)

    def second_norm(x: Tensor) -> Tensor:
        return ops.layer_norm.call(x, (embed_dim,), norm_weight_2, norm_bias_2, eps, True)

    if numel(src._size) == 0:
        return ops.clone.call(src, None)
    x = first_norm(src) if norm_first else src
    projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)
    options = (mask, False, True, mask_type)
    x = ops._native_multi_head_attention.call(x, x, x, embed_dim, num_heads, *projections, *options)[0]
    x = ops.add__Tensor.call(x, src, 1)
    attended = x = x if norm_first else first_norm(x)
    x = second_norm(x) if norm_first else x
    x = _feed_forward(x, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, use_gelu)
    x = ops.add__Tensor.call(x, attended, 1)
    return x if norm_first else second_norm(x)


def _feed_forward(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor, use_gelu: bool) -> Tensor:
    if len(x._size) != 3:
        raise RuntimeError("batched input size should be 3")
    if len(weight1._size) != 2 or len(weight2._size) != 2:
        raise RuntimeError("2d weights expected")
    flat, weight = _rows(x), ops.t.call(weight1)
    hidden = _batched(ops._addmm_activation.call(bias1, flat, weight, 1, 1, use_gelu), x)
    flat, weight = _rows(hidden), ops.t.call(weight2)
    return _batched(ops.addmm.call(bias2, flat, weight, 1, 1), x)


def _rows(x: Tensor) -> Tensor:
    return ops.view.call(x, (x._size[0] * x._size[1], x._size[2]))


def _batched(rows: Tensor, like: Tensor) -> Tensor:
    return ops.view.call(rows, (*like._size[:2], -1))

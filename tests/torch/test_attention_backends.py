"""``torch.nn.attention``: which kernel runs, and causal bias masks. The texts are PyTorch's."""

from __future__ import annotations

import pytest

from dispatchviz import torch
from dispatchviz.torch.nn.attention import SDPBackend, sdpa_kernel
from dispatchviz.torch.nn.attention.bias import causal_lower_right, causal_upper_left

attention = torch.nn.functional.scaled_dot_product_attention
Q = torch.arange(8.0).view(1, 1, 2, 4) / 10
K = torch.arange(12.0).view(1, 1, 3, 4) / 10


def test_without_the_fused_kernel_it_is_differentiated_product_by_product() -> None:
    q = Q.clone().requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        by_products = attention(q, K, K)
    fused = attention(q, K, K)
    assert torch.allclose(by_products, fused)
    names = by_products.grad_fn.name(), fused.grad_fn.name()
    assert names == ("UnsafeViewBackward0", "ScaledDotProductFlashAttentionForCpuBackward0")


def test_no_kernel_is_left() -> None:
    with pytest.raises(RuntimeError, match="No viable backend"), sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        attention(Q, K, K)
    assert attention(Q, K, K).shape == (1, 1, 2, 4)


def test_causal_biases() -> None:
    assert torch.equal(attention(Q, K, K, causal_upper_left(2, 3)), attention(Q, K, K, is_causal=True))
    seen = torch.tensor([[True, True, False], [True, True, True]])
    assert torch.equal(attention(Q, K, K, causal_lower_right(2, 3)), attention(Q, K, K, seen))
    assert repr(causal_lower_right(2, 3)) == repr(seen)

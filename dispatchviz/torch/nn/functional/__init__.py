"""``torch.nn.functional`` (``torch/nn/functional.py``): checks in Python around operators.

The functions that PyTorch takes unchanged from its C++ bindings (``linear``, ``conv2d``, ``gelu``) are looked up there
on use.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.missing_names import missing
from dispatchviz.torch.nn.functional.activations import (
    _get_softmax_dim,
    celu,
    elu,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from dispatchviz.torch.nn.functional.attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from dispatchviz.torch.nn.functional.dropouts import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from dispatchviz.torch.nn.functional.embeddings import embedding, embedding_bag
from dispatchviz.torch.nn.functional.fractional_pooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from dispatchviz.torch.nn.functional.interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest
from dispatchviz.torch.nn.functional.linear_losses import linear_cross_entropy
from dispatchviz.torch.nn.functional.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    smooth_l1_loss,
)
from dispatchviz.torch.nn.functional.margin_losses import (
    cosine_embedding_loss,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    kl_div,
    margin_ranking_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from dispatchviz.torch.nn.functional.normalizations import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from dispatchviz.torch.nn.functional.pad_fold_grid_sample import affine_grid, fold, grid_sample, pad, unfold
from dispatchviz.torch.nn.functional.pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from dispatchviz.torch.nn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "_canonical_mask",
    "_get_softmax_dim",
    "_in_projection",
    "_in_projection_packed",
    "_mha_shape_check",
    "_none_or_dtype",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "pad",
    "poisson_nll_loss",
    "relu",
    "relu6",
    "rms_norm",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_IN_TORCH = {
    name: name
    for name in (
        *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc"),
        *("avg_pool1d", "adaptive_avg_pool1d", "relu_", "selu_", "celu_", "rrelu_", "threshold_", "prelu"),
        *("hardshrink", "bilinear", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "pairwise_distance"),
        *("pdist", "cosine_similarity", "native_channel_shuffle"),
    )
}
_IN_NN = {
    "logsigmoid": "log_sigmoid",
    **{
        name: name
        for name in (
            *("avg_pool2d", "avg_pool3d", "hardtanh_", "elu_", "leaky_relu_", "gelu", "softplus", "softshrink"),
            *("linear", "one_hot", "scaled_dot_product_attention"),
        )
    },
}
"""Names both here and in ``torch._C._nn``."""


def __getattr__(name: str) -> Any:
    if name in _IN_TORCH:
        return getattr(torch, _IN_TORCH[name])
    if name in _IN_NN:
        return getattr(torch._C._nn, _IN_NN[name])
    raise missing(__name__, name)


def _as_pytorchs() -> None:
    """Set ``__module__`` of the functions to ``torch.nn.functional``."""
    for value in list(globals().values()):
        if getattr(value, "__module__", "").startswith(f"{__name__}."):
            value.__module__ = "torch.nn.functional"


_as_pytorchs()

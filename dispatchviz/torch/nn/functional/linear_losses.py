"""A linear layer and its loss in one (``linear_cross_entropy`` in ``torch/nn/functional.py``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.functional.losses import cross_entropy
from dispatchviz.torch.overrides import overridable


def _check_shapes(input: Any, linear_weight: Any, linear_bias: Any) -> None:
    if input.dim() < 1 or input.dim() > 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features = input.shape[-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{features} and {linear_weight.shape[-1]}, respectively"
        )
    expected = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != expected:
        raise RuntimeError(f"expected linear_bias shape {expected}, got {tuple(linear_bias.shape)}")
    if len(expected) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )


@overridable
def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """Return the cross entropy of ``linear(input)``: (N, F) or (F,), a weight (C, ..., F). Raise RuntimeError for other
    shapes.

    NB: in PyTorch, ``options`` let the logits be computed in chunks.
    """
    _check_shapes(input, linear_weight, linear_bias)
    if options is not None:
        raise NotImplementedError("linear_cross_entropy in chunks is not in dispatchviz's model of PyTorch")
    classes, more = linear_weight.shape[0], linear_weight.shape[1:-1]
    shape = (*input.shape[:-1], classes, *more)
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if more:
        length = math.prod(more, start=classes)
        linear_weight = linear_weight.reshape((length, input.shape[-1]))
        linear_bias = None if linear_bias is None else linear_bias.reshape(length)
    logits = torch.nn.functional.linear(input, linear_weight, linear_bias).reshape(shape)
    number = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight=weight, reduction=reduction, ignore_index=number, label_smoothing=label_smoothing
    )

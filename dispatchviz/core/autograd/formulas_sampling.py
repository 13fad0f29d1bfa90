"""Backward functions of samples of grids (``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.tensor import Tensor

Optional = Tensor | None


def grid_sampler_double_backward(
    grad_grad_input: Optional,
    grad_grad_grid: Optional,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: tuple[bool, ...],
) -> tuple[Optional, Optional, Optional]:
    """NotImplementedError: NB, the second gradient is missing."""
    raise NotImplementedError("second gradients of grid_sampler are not part of the model")

"""Lazy batch and instance normalization (``torch/nn/modules/batchnorm.py``, ``instancenorm.py``), whose num_features is
inferred from the first input.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules import batchnorm
from dispatchviz.torch.nn.modules.lazy import LazyModuleMixin


class _LazyNormBase(LazyModuleMixin, batchnorm._NormBase):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = torch.nn.UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = torch.nn.UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = torch.nn.UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = torch.nn.UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        """Reset the parameters as the module does, if they are initialized."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Set the number of features to the number of channels of the input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        waiting = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            waiting += [self.running_mean, self.running_var]
        for one in waiting:
            if one is not None:
                one.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, batchnorm._BatchNorm):
    """A BatchNorm1d whose num_features is inferred."""

    cls_to_become = batchnorm.BatchNorm1d
    _check_input_dim = batchnorm.BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, batchnorm._BatchNorm):
    """A BatchNorm2d whose num_features is inferred."""

    cls_to_become = batchnorm.BatchNorm2d
    _check_input_dim = batchnorm.BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, batchnorm._BatchNorm):
    """A BatchNorm3d whose num_features is inferred."""

    cls_to_become = batchnorm.BatchNorm3d
    _check_input_dim = batchnorm.BatchNorm3d._check_input_dim


class LazyInstanceNorm1d(_LazyNormBase, batchnorm._InstanceNorm):
    """An InstanceNorm1d whose num_features is inferred."""

    cls_to_become = batchnorm.InstanceNorm1d
    _dimensions = batchnorm.InstanceNorm1d._dimensions


class LazyInstanceNorm2d(_LazyNormBase, batchnorm._InstanceNorm):
    """An InstanceNorm2d whose num_features is inferred."""

    cls_to_become = batchnorm.InstanceNorm2d
    _dimensions = batchnorm.InstanceNorm2d._dimensions


class LazyInstanceNorm3d(_LazyNormBase, batchnorm._InstanceNorm):
    """An InstanceNorm3d whose num_features is inferred."""

    cls_to_become = batchnorm.InstanceNorm3d
    _dimensions = batchnorm.InstanceNorm3d._dimensions

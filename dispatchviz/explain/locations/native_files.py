"""PyTorch's source files of functions that are registered elsewhere or not at all, and the calls in meta and impl
functions.

``native_files.txt`` is read from PyTorch's own library (``truth/recorders/native_files.py``): the meta functions, and
the impl functions of the CPU. A CPU build has no functions of CUDA, so those are listed here as far as they are known.
"""

from __future__ import annotations

import os
import re
from functools import cache

_GENERATED = re.compile(r"structured_ufunc_(\w+)_(CPU|CUDA)::impl")
"""The impl functions that torchgen writes (``torchgen/dest/ufunc.py``)."""

_CUDA = {
    "Activation.cpp": "gelu_out_cuda gelu_backward_out_cuda",
    "AdaptiveMaxPooling2d.cu": "adaptive_max_pool2d_out_cuda adaptive_max_pool2d_backward_out_cuda",
    "AdaptiveMaxPooling3d.cu": "adaptive_max_pool3d_out_cuda adaptive_max_pool3d_backward_out_cuda",
    "AveragePool2d.cu": "avg_pool2d_out_cuda avg_pool2d_backward_out_cuda",
    "AveragePool3d.cu": "avg_pool3d_out_cuda avg_pool3d_backward_out_cuda",
    "Blas.cpp": "addmm_out_cuda addmm_activation_out_cuda addmv_out_cuda baddbmm_out_cuda bmm_out_cuda mm_out_cuda",
    "DilatedMaxPool2d.cu": "max_pool2d_with_indices_out_cuda max_pool2d_with_indices_backward_out_cuda",
    "FractionalMaxPool2d.cu": "fractional_max_pool2d_out_cuda fractional_max_pool2d_backward_cuda",
    "FractionalMaxPool3d.cu": "fractional_max_pool3d_out_cuda",
    "Indexing.cu": "index_add_cuda_out index_reduce_cuda_out",
    "Loss.cu": "nll_loss_forward_out_cuda nll_loss_backward_out_cuda",
    "NaiveConvolutionTranspose2d.cu": "slow_conv_transpose2d_structured_cuda",
    "ReflectionPad.cu": "reflection_pad1d_out_cuda reflection_pad1d_backward_out_cuda reflection_pad3d_out_cuda "
    "reflection_pad3d_backward_out_cuda",
    "ReplicationPadding.cu": "replication_pad1d_out_cuda replication_pad1d_backward_out_cuda "
    "replication_pad2d_out_cuda replication_pad3d_out_cuda",
    "Shape.cu": "cat_out_cuda",
    "SoftMax.cu": "log_softmax_cuda_out log_softmax_backward_cuda_out softmax_cuda_out softmax_backward_cuda_out",
    "TensorTopK.cpp": "topk_out_cuda",
    "TriangularOps.cu": "tril_cuda triu_cuda",
    "UpSampleBicubic2d.cu": "upsample_bicubic2d_out_cuda upsample_bicubic2d_backward_out_cuda",
    "UpSampleBilinear2d.cu": "upsample_bilinear2d_out_cuda upsample_bilinear2d_backward_out_cuda "
    "_upsample_bilinear2d_aa_out_cuda _upsample_bilinear2d_aa_backward_out_cuda _upsample_bicubic2d_aa_out_cuda "
    "_upsample_bicubic2d_aa_backward_out_cuda",
    "UpSampleLinear1d.cu": "upsample_linear1d_out_cuda upsample_linear1d_backward_out_cuda",
    "UpSampleNearest1d.cu": "upsample_nearest1d_out_cuda upsample_nearest1d_backward_out_cuda "
    "_upsample_nearest_exact1d_out_cuda _upsample_nearest_exact1d_backward_out_cuda",
    "UpSampleNearest2d.cu": "upsample_nearest2d_out_cuda upsample_nearest2d_backward_out_cuda "
    "_upsample_nearest_exact2d_out_cuda _upsample_nearest_exact2d_backward_out_cuda",
    "UpSampleNearest3d.cu": "upsample_nearest3d_out_cuda upsample_nearest3d_backward_out_cuda "
    "_upsample_nearest_exact3d_out_cuda _upsample_nearest_exact3d_backward_out_cuda",
    "UpSampleTrilinear3d.cu": "upsample_trilinear3d_out_cuda upsample_trilinear3d_backward_out_cuda",
}
"""The files of ``aten/src/ATen/native/cuda`` and the impl functions in them."""

FALLBACKS = {
    "autogradNotImplementedFallback": "torch/csrc/autograd/autograd_not_implemented_fallback.cpp",
    "autogradNotImplementedInplaceOrViewFallback": "torch/csrc/autograd/autograd_not_implemented_fallback.cpp",
    "batchedTensorForLoopFallback": "aten/src/ATen/functorch/BatchedFallback.cpp",
    "batchedNestedTensorForLoopFallback": "aten/src/ATen/functorch/BatchedFallback.cpp",
    "at::batchedTensorForLoopFallback": "aten/src/ATen/LegacyBatchedFallback.cpp",
    "fallthrough_kernel": "aten/src/ATen/core/boxing/KernelFunction.cpp",
}
"""The kernels that are defined in another file than the one that registers them."""


def _lines(file: str) -> list[str]:
    """Return the lines of a file beside this one."""
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as lines:
        return lines.read().splitlines()


@cache
def _known() -> dict[str, str]:
    lines = _lines("native_files.txt")
    found = {name: path for path, _, names in (line.partition(": ") for line in lines) for name in names.split()}
    cuda = {f"structured_{name}::impl": file for file, names in _CUDA.items() for name in names.split()}
    return found | {name: f"aten/src/ATen/native/cuda/{file}" for name, file in cuda.items()}


def structured_file(function: str) -> str:
    """Return the file of a structured function, such as ``structured_sum_out::impl`` or
    ``structured_sum_dim_IntList::meta``; empty if unknown.
    """
    generated = _GENERATED.fullmatch(function)
    if generated is not None:
        suffix = "cu" if generated[2] == "CUDA" else "cpp"
        return f"build/aten/src/ATen/Ufunc{generated[2]}_{generated[1]}.{suffix}"
    return _known().get(function, "")


def kernel_file(kernel: str, registered: str) -> str:
    """Return the file of a kernel. Generated kernels, and most of the handwritten ones, are in the file that registers
    them.
    """
    return FALLBACKS.get(kernel, registered)


@cache
def _calls() -> dict[str, tuple[str, ...]]:
    lines = _lines("native_calls.txt")
    return {name: tuple(called.split()) for name, _, called in (line.partition(": ") for line in lines)}


def native_calls(function: str) -> tuple[str, ...]:
    """Return the calls of a function: ``build_borrowing_binary_op`` for ``structured_add_Tensor::meta``, ``add_stub``
    for ``structured_ufunc_add_CPU::impl``; empty if it makes none, or has no code for the CPU.
    """
    return _calls().get(function, ())

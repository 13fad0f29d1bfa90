"""Argument checks of ``_embedding_bag`` (``aten/src/ATen/native/EmbeddingBag.cpp``)."""

from __future__ import annotations

from itertools import pairwise

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_same_type, check_scalar_types
from dispatchviz.core.tensor.dtype import bfloat16, float16, float32, float64, int32, int64, promote_types
from dispatchviz.core.tensor.tensor import Tensor, numel

SUM, MEAN, MAX = 0, 1, 2
"""The values of ``mode``."""


def promoted(indices: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Indices and offsets in their common dtype."""
    common = promote_types(offsets._dtype, indices._dtype)

    def cast(tensor: Tensor) -> Tensor:
        if tensor._dtype is common:
            return tensor
        return ops.to_dtype_layout.call(tensor, common, "strided", tensor._device, None, False, False, None)

    return cast(indices), cast(offsets)


def check_ranks(weight: Tensor, indices: Tensor, offsets: Tensor) -> None:
    """Raise RuntimeError for tensors of wrong rank."""
    if len(indices._size) not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {len(indices._size)}")
    if len(indices._size) == 1 and len(offsets._size) != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {len(offsets._size)}")
    if len(weight._size) != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight._size)}")


def check_index_dtypes(indices: Tensor, offsets: Tensor) -> None:
    """Raise RuntimeError unless both are integers of one dtype."""
    check_scalar_types("embedding_bag", TensorArg(indices, "indices", 1), int64, int32)
    check_scalar_types("embedding_bag", TensorArg(offsets, "offsets", 1), int64, int32)
    check_same_type("embedding_bag", TensorArg(indices, "indices", 1), TensorArg(offsets, "offsets", 1))


def check_arguments(
    weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, samples: Tensor | None, include_last_offset: bool
) -> None:
    """Raise RuntimeError for arguments that do not fit together (``check_arguments``)."""
    check_index_dtypes(indices, offsets)
    check_scalar_types("embedding_bag", TensorArg(weight, "weight", 1), float16, bfloat16, float32, float64)
    if offsets._size[0]:
        _check_offsets(indices, offsets)
    if samples is not None:
        _check_samples(weight, indices, mode, samples)
    if include_last_offset and offsets._size[0] < 1:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")


def _check_offsets(indices: Tensor, offsets: Tensor) -> None:
    first, last = int(offsets._array[0]), int(offsets._array[-1])
    if first:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {first}\n[ torch.{offsets._dtype.legacy}Tensor{{}} ]"
        )
    if last > indices._size[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices._size[0]} but got offsets[-1] of {last}"
        )


def _check_samples(weight: Tensor, indices: Tensor, mode: int, samples: Tensor) -> None:
    if mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    check_same_type("embedding_bag", TensorArg(weight, "weight", 1), TensorArg(samples, "per_sample_weights", 1))
    if len(samples._size) != 1:
        raise unnamed("per_sample_weights.value().dim() == 1")
    if numel(samples._size) != numel(indices._size):
        raise unnamed("per_sample_weights.value().numel() == indices.numel()")


def unnamed(condition: str) -> RuntimeError:
    """The error of a condition for which PyTorch has no message."""
    return RuntimeError(f"Expected {condition} to be true, but got false.  {IMPROVABLE}")


def check_fast_indices(weight: Tensor, indices: Tensor, offsets: Tensor, include_last_offset: bool) -> None:
    """Raise RuntimeError for bags that end before they begin, and for indices out of range."""
    bags = offsets._size[0] - include_last_offset
    ends = [*offsets._array.tolist(), numel(indices._size)][: bags + 1]
    if any(end < begin for begin, end in pairwise(ends)):
        raise unnamed("i < index_size")
    wrong = (indices._array < 0) | (indices._array >= weight._size[0])
    if wrong.any():
        at = int(wrong.argmax())
        raise RuntimeError(
            f"Index {at} of input takes value {int(indices._array[at])} which is not in the valid range "
            f"[0, {weight._size[0]})"
        )


def check_indices(weight: Tensor, indices: Tensor) -> None:
    """Raise RuntimeError for indices out of range, with the message of the slow path."""
    wrong = (indices._array < 0) | (indices._array >= weight._size[0])
    if wrong.any():
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{int(indices._array[wrong][0])}"
        )

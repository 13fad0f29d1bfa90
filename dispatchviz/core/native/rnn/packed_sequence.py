"""``_pack_padded_sequence``, ``_pad_packed_sequence``, ``pad_sequence``
(``aten/src/ATen/native/PackedSequence.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel


def _numbers(tensor: Tensor) -> list[int]:
    return [int(value) for value in tensor._array]


def _check_lengths(tensor: Tensor) -> None:
    if len(tensor._size) != 1 or tensor._device.type != "cpu" or tensor._dtype is not int64:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {len(tensor._size)}D {tensor._device} "
            f"{tensor._dtype.legacy} tensor"
        )


def _slice(tensor: Tensor, dim: int, start: int, end: int) -> Tensor:
    return ops.slice_Tensor.call(tensor, dim, start, end, 1)


# -- packing -----------------------------------------------------------------------------------------------------------


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The packed data (all first steps, then all second steps, ...) and the number of sequences at each step.

    Raise RuntimeError if the lengths do not fit, are below 1, or are not in descending order.
    """
    padded = ops.transpose_int.call(input, 0, 1) if batch_first else input
    given = as_contiguous(lengths)
    _check_lengths(given)
    batch_size, many = padded._size[1], _numbers(given)
    _check_packable(padded, many)
    counts = ops.empty_memory_format.call((many[0],), given._dtype, "strided", given._device, None, None)
    steps, done = [], 0
    for index in range(batch_size):
        length = many[batch_size - 1 - index]
        if length > done:
            block = _slice(_slice(padded, 0, done, length), 1, 0, batch_size - index)
            block = as_contiguous(block)
            steps.append(ops.view.call(block, (-1, *padded._size[2:])))
            counts._array[done:length] = batch_size - index
            done = length
    return ops.cat.call(steps, 0), counts


def _check_packable(padded: Tensor, lengths: list[int]) -> None:
    if numel(padded._size) == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != padded._size[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={padded._size[1]})"
        )
    if lengths[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(shorter > longer for longer, shorter in pairwise(lengths)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )


def _pack_padded_sequence_backward_symint(
    grad: Tensor, input_size: Size, batch_sizes: Tensor, batch_first: bool
) -> Tensor:
    """The gradient as a padded batch, with zeros as padding."""
    first, second, *rest = input_size
    size = (second, first, *rest) if batch_first else tuple(input_size)
    padded = ops.zeros.call(size, grad._dtype, "strided", grad._device, None)
    given = as_contiguous(batch_sizes)
    _check_lengths(given)
    offset = 0
    for time, count in enumerate(_numbers(given)):
        index = _slice(ops.select_int.call(padded, 0, time), 0, 0, count)
        ops.copy_.call(index, _slice(grad, 0, offset, offset + count), False)
        offset += count
    return ops.transpose_int.call(padded, 0, 1) if batch_first else padded


# -- padding -----------------------------------------------------------------------------------------------------------


def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Scalar, total_length: int
) -> tuple[Tensor, Tensor]:
    """A padded batch and the lengths of its sequences.

    Raise RuntimeError if ``total_length`` is smaller than the longest sequence.
    """
    given = as_contiguous(batch_sizes)
    _check_lengths(given)
    counts = _numbers(given)
    longest = len(counts)
    if 0 < total_length < longest:
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    size = (total_length if total_length > 0 else longest, counts[0], *data._size[1:])
    output = ops.full.call(size, padding_value, data._dtype, "strided", data._device, None)
    lengths = ops.empty_memory_format.call((counts[0],), given._dtype, "strided", given._device, None, None)
    offset, start, before = 0, 0, counts[0]
    for time, count in enumerate([*counts, 0]):
        if count == before:
            continue
        end = offset + before * (time - start)
        block = _slice(data, 0, offset, end)
        index = _slice(_slice(output, 0, start, time), 1, 0, before)
        ops.copy_.call(index, ops.view.call(block, (time - start, before, *data._size[1:])), False)
        lengths._array[max(count, 0) : before] = time
        offset, start, before = end, time, count
    return (ops.transpose_int.call(output, 0, 1) if batch_first else output), lengths


def pad_sequence(sequences: Sequence[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    """The sequences as one batch, padded at one side. Raise RuntimeError if there are none, or for an unknown side."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(sequence._size[0] for sequence in sequences)
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    first = sequences[0]
    out = ops.full.call((*shape, *first._size[1:]), padding_value, first._dtype, "strided", first._device, None)
    for index, sequence in enumerate(sequences):
        length = sequence._size[0]
        start = longest - length if padding_side == "left" else 0
        if batch_first:
            target = ops.narrow.call(ops.select_int.call(out, 0, index), 0, start, length)
        else:
            target = ops.select_int.call(ops.narrow.call(out, 0, start, length), 1, index)
        ops.copy_.call(target, sequence, False)
    return out

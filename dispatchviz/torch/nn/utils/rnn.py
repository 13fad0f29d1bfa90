"""Sequences of several lengths: ``PackedSequence`` and its construction (``torch/nn/utils/rnn.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dispatchviz.torch import _VF
from dispatchviz.torch._namespace import torch

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The data (all first steps, all second steps, ...), the size of each step, the sort order, and its inverse."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """The return value of ``pack_sequence``. Raise ValueError for batch sizes that are not on the CPU."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert data and indices as ``Tensor.to`` does; batch sizes stay on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        _, _, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
        indices = [
            given if given is None else given.to(data.device, non_blocking=non_blocking, memory_format=memory_format)
            for given in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *indices)

    def _on(self, device: str, args: Any, kwargs: Any) -> PackedSequence:
        probe = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if probe.device.type == device:
            return self.to(*args, **kwargs)
        return self.to(*args, **{**kwargs, "device": device})

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the GPU."""
        return self._on("cuda", args, kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the CPU."""
        return self._on("cpu", args, kwargs)

    def double(self) -> PackedSequence:
        """Convert the data to float64."""
        return self.to(dtype=torch.double)

    def float(self) -> PackedSequence:
        """Convert the data to float32."""
        return self.to(dtype=torch.float)

    def half(self) -> PackedSequence:
        """Convert the data to float16."""
        return self.to(dtype=torch.half)

    def long(self) -> PackedSequence:
        """Convert the data to int64."""
        return self.to(dtype=torch.long)

    def int(self) -> PackedSequence:
        """Convert the data to int32."""
        return self.to(dtype=torch.int)

    def short(self) -> PackedSequence:
        """Convert the data to int16."""
        return self.to(dtype=torch.short)

    def char(self) -> PackedSequence:
        """Convert the data to int8."""
        return self.to(dtype=torch.int8)

    def byte(self) -> PackedSequence:
        """Convert the data to uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self) -> bool:
        """True if the data is on the GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Return whether the data is in pinned memory."""
        return bool(self.data.is_pinned())


for _class in (PackedSequence_, PackedSequence):
    _class.__module__ = "torch.nn.utils.rnn"


def invert_permutation(permutation: Any) -> Any:
    """Return the inverse permutation, or None for None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation, memory_format=torch.contiguous_format)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch. Raise RuntimeError for increasing lengths, unless ``enforce_sorted`` is False."""
    if isinstance(lengths, torch.Tensor):
        lengths = lengths.to(dtype=torch.int64)
    else:
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _VF._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: Any, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return (padded batch, lengths), in the order before sorting. Raise ValueError if the total length is too
    small.
    """
    length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    padded, lengths = _VF._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, length)
    back = sequence.unsorted_indices
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Pad tensors of several lengths to one tensor. Raise RuntimeError for anything but an iterable."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return torch._C._nn.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Return tensors of several lengths."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    steps = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [sequence[steps < length] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of several lengths."""
    lengths = torch.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: Any) -> list[Any]:
    """Return tensors of several lengths."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

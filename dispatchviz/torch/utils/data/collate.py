"""Collation of samples into batches (``torch/utils/data/_utils/collate.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dispatchviz.torch._namespace import torch


def default_collate(batch: Any) -> Any:
    """Stack tensors and convert numbers to tensors; containers are kept.

    Raise RuntimeError for lists of different lengths, TypeError for types that cannot be in a batch.
    """
    first = batch[0]
    kind: Any = type(first)
    if isinstance(first, torch.Tensor):
        return torch.stack(batch, 0)
    if kind.__module__ == "numpy":
        if kind.__name__ == "ndarray" and first.dtype.kind in "SaUO":
            raise TypeError(f"{_REFUSED}{first.dtype}")
        return default_collate([torch.as_tensor(value) for value in batch])
    if isinstance(first, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return kind({key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(default_collate(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(samples) for samples in zip(*batch, strict=True)]
        return parts if isinstance(first, tuple) else _again(kind, parts)
    raise TypeError(f"{_REFUSED}{kind}")


_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "


def _again(kind: Any, parts: list[Any]) -> Any:
    """Return the parts in the container type that held them, or in a list if it cannot be constructed."""
    try:
        return kind(parts)
    except TypeError:
        return parts


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays to tensors inside any containers; everything else is unchanged."""
    kind: Any = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy":
        return data if kind.__name__ in ("str_", "bytes_") else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return kind({key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return kind([default_convert(value) for value in data])
    return data

"""Strides, identity and dispatch logs of conversions with a memory format, beside PyTorch's."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import pytest

from tests.amounts import some
from tests.conformance.memory_formats import pairs

torch = pytest.importorskip("torch")


def layout(torch: ModuleType, x: Any, y: Any) -> Any:
    """Geometry of a result, its size in memory, and whether it is the tensor itself or shares its memory."""
    if not isinstance(y, torch.Tensor):
        return y
    formats = ("contiguous_format", "channels_last", "channels_last_3d")
    on_meta = y.device.type == "meta"
    return {
        "size": (tuple(y.shape), y.stride(), y.storage_offset()),
        "kind": (str(y.dtype), str(y.device), y.requires_grad),
        "formats": [y.is_contiguous(memory_format=getattr(torch, name)) for name in formats],
        "itself": y is x,
        "bytes": None if on_meta else y.untyped_storage().nbytes(),
        "shared": not on_meta and x.device == y.device and y.numel() > 0 and y.data_ptr() == x.data_ptr(),
    }


def answer(torch: ModuleType, tensor: str, conversion: str) -> Any:
    """The layout of the result, or the error."""
    x = eval(tensor, {"torch": torch})
    try:
        return layout(torch, x, eval(conversion, {"torch": torch, "x": x}))
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.long
def test_every_conversion_has_the_layout_of_pytorch() -> None:
    from dispatchviz import torch as model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tensor, conversion in some([*pairs()], 12):
            assert answer(model, tensor, conversion) == answer(torch, tensor, conversion), (tensor, conversion)

"""Layouts and memory formats: objects that consist of a name (``c10/core/Layout.h``, ``MemoryFormat.h``).

On stacks and in kernels they are plain texts (``"strided"``, ``"channels_last"``). Python sees these objects.
"""

from __future__ import annotations

from dispatchviz.core.device.declared_in_c import DeclaredInC


class _Named:
    """An object that consists of a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class layout(_Named, metaclass=DeclaredInC, name="torch.layout"):
    """The storage layout of a tensor. NB: all except ``strided`` are names only, since every tensor here is strided."""


class memory_format(_Named, metaclass=DeclaredInC, name="torch.memory_format"):
    """The order in memory of the dimensions of a new tensor."""


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
_mkldnn = layout("_mkldnn")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

LAYOUTS = {0: strided}
"""The layouts by number, as schemas with plain integers know them."""
MEMORY_FORMATS = {0: contiguous_format, 1: preserve_format, 2: channels_last, 3: channels_last_3d}


def text_of(chosen: layout | memory_format) -> str:
    """The text on stacks. Raise NotImplementedError for a layout that no tensor has here."""
    if isinstance(chosen, layout) and chosen is not strided:
        raise NotImplementedError(f"{chosen} is not in dispatchviz's model of PyTorch: every tensor is strided")
    return chosen.name

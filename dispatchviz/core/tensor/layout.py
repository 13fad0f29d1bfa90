"""Layouts and memory formats: objects that are only a name (``c10/core/Layout.h``, ``MemoryFormat.h``).

On stacks and in kernels they are plain texts (``"strided"``, ``"channels_last"``); these objects are what Python sees.
"""

from __future__ import annotations

from dispatchviz.core.device.declared_in_c import DeclaredInC


class _Named:
    """An object that is only a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class layout(_Named, metaclass=DeclaredInC, name="torch.layout"):
    """How a tensor is stored. NB: all but ``strided`` are names only: here every tensor is strided."""


class memory_format(_Named, metaclass=DeclaredInC, name="torch.memory_format"):
    """In which order the dimensions of a new tensor lie in memory."""


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
"""By number, as schemas with plain integers know them."""
MEMORY_FORMATS = {0: contiguous_format, 1: preserve_format, 2: channels_last, 3: channels_last_3d}


def text_of(chosen: layout | memory_format) -> str:
    """What stacks hold. NotImplementedError for a layout that no tensor has here."""
    if isinstance(chosen, layout) and chosen is not strided:
        raise NotImplementedError(f"{chosen} is not in dispatchviz's model of PyTorch: every tensor is strided")
    return chosen.name

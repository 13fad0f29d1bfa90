"""The attributes ``_saved_<name>`` and ``_raw_saved_<name>`` of Nodes, as Python sees them.

This module mirrors ``torch/csrc/autograd/generated/python_functions_*.cpp``. A Node class lists its saved values, and
``Node.__init_subclass__`` makes read-only properties from the lists. Tensors are in slots that end in ``_``
(``self_``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.graph.saved_variable import NOT_SAVED

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node

_UINT64 = 2**64 - 1


def install_properties(cls: type[Node], own: Mapping[str, Any]) -> None:
    """Create the properties for the lists in a class's own namespace."""
    for name in own.get("saved_variables", ()):
        setattr(cls, f"_saved_{name}", _unpacking(f"{name}_"))
        setattr(cls, f"_raw_saved_{name}", _raw(f"{name}_"))
    for name in own.get("saved_attributes", ()):
        setattr(cls, f"_saved_{name}", _plain(name, unsigned=name in cls.saved_integers))


def _unpacking(slot: str) -> property:
    def read(node: Node) -> Any:
        saved = getattr(node, slot, NOT_SAVED)
        if isinstance(saved, list):
            return tuple([one.unpack(node) for one in saved])
        return saved.unpack(node)

    return property(read)


def _raw(slot: str) -> property:
    def read(node: Node) -> Any:
        saved = getattr(node, slot, NOT_SAVED)
        return tuple(saved) if isinstance(saved, list) else saved

    return property(read)


def _plain(slot: str, unsigned: bool) -> property:
    def read(node: Node) -> Any:
        value = getattr(node, slot)
        if isinstance(value, (list, tuple)):
            return tuple([_as_unsigned(one) for one in value] if unsigned else value)
        return _as_unsigned(value) if unsigned else value

    return property(read)


def _as_unsigned(value: Any) -> Any:
    """Return a saved integer as Python sees it: PyTorch converts it as an unsigned 64-bit integer, so dim -1 reads
    18446744073709551615.
    """
    return value & _UINT64 if isinstance(value, int) and not isinstance(value, bool) else value

"""Key sets and table indexes in the numbers of the PyTorch that a trace was recorded on.

Events always have the numbers of PyTorch 2.14, so that runs can be compared. The screens show the numbers of the
recorded release, from its header (``KeyLayout``).
"""

from __future__ import annotations

import functools

import msgspec

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import FUNCTIONALITIES, RUNTIME_KEYS, BackendComponent
from dispatchviz.core.record.trace_file import Header, KeyLayout
from dispatchviz.explain.keys.key_layouts import Layout, layouts
from dispatchviz.explain.keys.key_text import BACKENDS, backend_bit, backend_name, key_names
from dispatchviz.foundation.english import hexed


class OwnNumbers:
    """The numbers of one release."""

    def __init__(self, release: str, recorded: KeyLayout) -> None:
        layout = self.layout = Layout((release,), recorded.backends, recorded.keys, layouts()[-1].per_backend, ())
        """The layout of the release."""
        backends = {name: 1 << bit for bit, name in enumerate(layout.backends)}
        keys = {name: 1 << bit for bit, name in enumerate(layout.keys, len(layout.backends))}
        self._bits = [(backend_bit(one), backends.get(backend_name(one), 0)) for one in BackendComponent if one]
        self._bits += [(raw(key) & ~BACKENDS, keys.get(key.name, 0)) for key in FUNCTIONALITIES]
        everything = (1 << len(layout.backends) + len(layout.keys)) - 1
        self.cells = {name: cell for cell, name in enumerate(("Undefined", *layout.members(everything)))}
        """The table index of each runtime key, as ``DispatchKeySet.cpp`` computes it."""

    def set(self, ks: int) -> int:
        """Convert a raw set from the numbers of 2.14 to those of the release."""
        return sum(own for ours, own in self._bits if ks & ours)


@functools.cache
def _numbers(release: str, layout: KeyLayout) -> OwnNumbers:
    return OwnNumbers(release, layout)


def own_numbers(header: Header) -> OwnNumbers | None:
    """The numbers of the recorded PyTorch; None if they are those of PyTorch 2.14."""
    return None if isinstance(header.layout, msgspec.UnsetType) else _numbers(header.pytorch, header.layout)


def own_keys(header: Header) -> tuple[str, ...]:
    """The key of each table entry there."""
    numbers = own_numbers(header)
    return OUR_KEYS if numbers is None else tuple(numbers.cells)


OUR_KEYS = tuple(map(str, RUNTIME_KEYS))
"""The keys of PyTorch 2.14."""


def own_set(header: Header, ks: int) -> int:
    """The number of a set there."""
    numbers = own_numbers(header)
    return ks if numbers is None else numbers.set(ks)


def own_cell(header: Header, key: str, cell: int) -> int:
    """The table index of a runtime key there; in PyTorch 2.14 it is ``cell``."""
    numbers = own_numbers(header)
    return cell if numbers is None else numbers.cells.get(key, cell)


def own_hex(header: Header, ks: int) -> str:
    """``0x1000010002``"""
    return hexed(own_set(header, ks))


def own_shown(header: Header, ks: int) -> str:
    """``0x1000010002 (AutogradCUDA, CUDA)``, in the release's order of keys."""
    numbers = own_numbers(header)
    names = key_names(ks) if numbers is None else numbers.layout.members(numbers.set(ks))[::-1]
    return f"{own_hex(header, ks)} ({', '.join(names) or 'no keys'})"

"""Key sets and cells in the numbers of the PyTorch that a trace was recorded on.

Events have the numbers of PyTorch 2.13 whatever was recorded, so that runs can be compared; what is shown of them has
the release's own, as its header tells them (``KeyLayout``).
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
    """Of one release."""

    def __init__(self, release: str, told: KeyLayout) -> None:
        layout = self.layout = Layout((release,), told.backends, told.keys, layouts()[-1].per_backend, ())
        """As the release has it."""
        backends = {name: 1 << bit for bit, name in enumerate(layout.backends)}
        keys = {name: 1 << bit for bit, name in enumerate(layout.keys, len(layout.backends))}
        self._bits = [(backend_bit(one), backends.get(backend_name(one), 0)) for one in BackendComponent if one]
        self._bits += [(raw(key) & ~BACKENDS, keys.get(key.name, 0)) for key in FUNCTIONALITIES]
        everything = (1 << len(layout.backends) + len(layout.keys)) - 1
        self.cells = {name: cell for cell, name in enumerate(("Undefined", *layout.members(everything)))}
        """Runtime key to cell, as ``DispatchKeySet.cpp`` lays them out."""

    def set(self, ks: int) -> int:
        """A raw set of 2.13's numbers in the release's."""
        return sum(own for ours, own in self._bits if ks & ours)


@functools.cache
def _numbers(release: str, layout: KeyLayout) -> OwnNumbers:
    return OwnNumbers(release, layout)


def own_numbers(header: Header) -> OwnNumbers | None:
    """Those of the PyTorch that was recorded; None if they are those of PyTorch 2.13."""
    return None if isinstance(header.layout, msgspec.UnsetType) else _numbers(header.pytorch, header.layout)


def own_keys(header: Header) -> tuple[str, ...]:
    """The key of each cell there."""
    numbers = own_numbers(header)
    return tuple(map(str, RUNTIME_KEYS)) if numbers is None else tuple(numbers.cells)


def own_set(header: Header, ks: int) -> int:
    """The number of a set there."""
    numbers = own_numbers(header)
    return ks if numbers is None else numbers.set(ks)


def own_cell(header: Header, key: str, cell: int) -> int:
    """Position of a runtime key in tables there, which is ``cell`` in those of PyTorch 2.13."""
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

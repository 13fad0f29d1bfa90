"""The numbers of the dispatch keys in an installed release, and the translation of its key sets to those of PyTorch
2.14.

Releases number their keys and backends differently, but the names stay. So a set is translated bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, takewhile
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BACKEND_MASK, FUNCTIONALITIES, BackendComponent, DispatchKey, runtime_key
from dispatchviz.core.record.trace_file import KeyLayout

K = DispatchKey

BETWEEN = "UnknownUnknown"
"""PyTorch's ``EndOfFunctionalityKeys``, after which the runtime keys of backends follow."""

OURS = KeyLayout(
    tuple(runtime_key(K.Dense, backend).name for backend in BackendComponent if backend),
    tuple(key.name for key in FUNCTIONALITIES),
)
"""The key layout of PyTorch 2.14."""


def key_layout(c: Any) -> KeyLayout:
    """Return the key layout of the installed release, read from the name of each key."""
    keys = tuple(takewhile(lambda name: name != BETWEEN, _names_from(c, 1)))
    backends = _names_from(c, len(keys) + 3)  # after that end comes the placeholder of the first block
    return KeyLayout(tuple(next(backends) for _ in range(c._dispatch_num_backends())), keys)


def _names_from(c: Any, first: int) -> Iterator[str]:
    return (c._dispatch_key_name(c.DispatchKey(number)) for number in count(first))


class KeyNumbers(dict[int, int]):
    """A cache of raw key sets of an installed PyTorch, translated to PyTorch 2.14.

    Each set is translated once. Bits of keys that PyTorch 2.14 does not have are left out (``blind_spots.py``).
    """

    def __init__(self, c: Any = None) -> None:
        super().__init__()
        self._bits: dict[int, int] = {}
        """A mapping from a bit of the installed release to ours."""
        self.is_own = True
        """True if the installed release numbers its keys as PyTorch 2.14 does."""
        self.hidden = 0
        """Bits of keys that only the recorder uses."""
        self.defaults = 0, 0
        """The thread-local sets that a zero means (``local_sets.py``)."""
        if c is not None:
            self.read(c)

    def read(self, c: Any) -> None:
        """Read the layout of the installed release, before any set is translated."""
        layout = key_layout(c)
        self._bits, self.is_own = dict(_bits(layout)), layout == OURS

    def __missing__(self, own: int) -> int:
        plain = own & ~self.hidden
        known = self[own] = plain if self.is_own else self._translated(plain)
        return known

    def _translated(self, own: int) -> int:
        return sum(self._bits.get(1 << place, 0) for place in range(own.bit_length()) if own & 1 << place)


def raw_of(c: Any) -> Callable[[Any], int]:
    """Return a function that reads the raw number of a ``torch._C.DispatchKeySet``.

    It is the method as a plain function, because binding a method of a pybind11 class takes as long as the method
    itself.
    """
    method = c.DispatchKeySet.raw_repr
    function: Callable[[Any], int] = getattr(method, "__func__", method)
    return function


def _bits(layout: KeyLayout) -> Iterator[tuple[int, int]]:
    """Yield each bit of a release with the bit in ours, for keys that both have."""
    for place, name in enumerate(layout.backends):
        if name in OURS.backends:
            yield 1 << place, 1 << OURS.backends.index(name)
    for place, name in enumerate(layout.keys, len(layout.backends)):
        if name in OURS.keys:
            yield 1 << place, raw(DispatchKey[name]) & ~BACKEND_MASK

"""Key sets of an installed release as numbers of the release that this package describes.

Releases number their keys and backends in their own way; the names stay. So a set is taken over bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import (
    BACKEND_MASK,
    FUNCTIONALITIES,
    PER_BACKEND,
    BackendComponent,
    DispatchKey,
    runtime_key,
)

K = DispatchKey


class KeyNumbers(dict[int, int]):
    """From raw key sets of an installed PyTorch to those of PyTorch 2.13; each is taken over once."""

    def __init__(self, c: Any) -> None:
        super().__init__()
        self._bits = dict(_bits(c))
        """From a bit of the installed release to ours."""
        self.is_own = all(own == ours for own, ours in self._bits.items())
        """The installed release numbers its keys as PyTorch 2.13 does."""
        self.unknown = 0
        """Bits of the installed release that were met and belong to no key of PyTorch 2.13."""

    def __missing__(self, own: int) -> int:
        known = self[own] = own if self.is_own else self._translated(own)
        return known

    def _translated(self, own: int) -> int:
        result = 0
        for place in range(own.bit_length()):
            if bit := own & 1 << place:
                result |= self._bits.get(bit, 0)
                self.unknown |= 0 if bit in self._bits else bit
        return result


def raw_of(c: Any) -> Callable[[Any], int]:
    """What gives the raw number of a ``torch._C.DispatchKeySet``: its method as the function that it is, since to bind
    a method of a class that pybind11 made takes as long as what it does."""
    method = c.DispatchKeySet.raw_repr
    function: Callable[[Any], int] = getattr(method, "__func__", method)
    return function


def _bits(c: Any) -> list[tuple[int, int]]:
    """Bits of the installed release, with the same in ours; of keys that both have."""
    dense = _own(c, K.CPU) & _own(c, K.QuantizedCPU) ^ _own(c, K.CPU)
    backends = [(_own(c, key) & ~dense, 1 << backend - 1) for backend, key in _dense_keys() if _own(c, key)]
    all_backends = sum(own for own, _ in backends)
    found = backends
    for functionality in FUNCTIONALITIES:
        key = runtime_key(functionality, BackendComponent.CPUBit) if functionality in PER_BACKEND else functionality
        own = _own(c, key) & ~all_backends
        if own:
            found.append((own, raw(functionality) & ~BACKEND_MASK))
    return found


def _dense_keys() -> list[tuple[BackendComponent, DispatchKey]]:
    return [(backend, runtime_key(K.Dense, backend)) for backend in BackendComponent if backend]


def _own(c: Any, key: DispatchKey) -> int:
    """The raw set of a key in the installed release; 0 if it has none of that name."""
    try:
        return int(c.DispatchKeySet(c._dispatch_key_parse(key.name)).raw_repr())
    except RuntimeError:
        return 0

"""The thread-local include and exclude sets, read where PyTorch keeps them: ``raw_local_dispatch_key_set``
(``c10/core/impl/LocalDispatchKeySet.h``), two numbers for each thread.

Each kernel is noted with both sets. PyTorch's functions make two objects and then read their numbers, which takes ten
times as long as reading memory. They are used only where the variable is not found by its name, or does not behave as
it should.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import ALIASES, BACKEND_MASK, DispatchKey
from dispatchviz.live.key_numbers import raw_of

_NAME = "_ZN3c104impl26raw_local_dispatch_key_setE"
_Pair = ctypes.c_uint64 * 2


class LocalSets:
    """The thread-local sets of each thread. PyTorch stores a thread's default sets as a pair of zeros."""

    def __init__(self, c: Any) -> None:
        raw, included, excluded = raw_of(c), c._dispatch_tls_local_include_set, c._dispatch_tls_local_exclude_set
        self._asked: tuple[Callable[[], int], Callable[[], int]] = (lambda: raw(included()), lambda: raw(excluded()))
        self._library = ctypes.CDLL(c.__file__)
        self.defaults = 0, 0
        """The sets that a zero means. PyTorch stores a set as its difference from them."""
        self._is_found = self._finds(c)

    def of_this_thread(self) -> Sequence[int]:
        """Return the included and excluded sets of this thread. They are current whenever one is read."""
        return self._there() if self._is_found else _Asked(self._asked)

    def _there(self) -> Sequence[int]:
        """Return the memory of the calling thread's variable, whose address the dynamic loader gives."""
        return memoryview(_Pair.in_dll(self._library, _NAME)).cast("B").cast("Q")

    def _finds(self, c: Any) -> bool:
        try:
            sets = self._there()
        except ValueError:  # no such name
            return False
        self.defaults = sets[0] ^ self._asked[0](), sets[1] ^ self._asked[1]()
        before = tuple(sets)
        key = c._dispatch_key_parse("ZeroTensor")
        with c._IncludeDispatchKeyGuard(key), c._ExcludeDispatchKeyGuard(c.DispatchKeySet(key)):
            follows = self._agrees(sets) and sets[0] != before[0] and sets[1] != before[1]
        if not (follows and self._agrees(sets)):
            self.defaults = 0, 0
            return False
        return True

    def _agrees(self, sets: Sequence[int]) -> bool:
        return all(
            one ^ default == asked() for one, default, asked in zip(sets, self.defaults, self._asked, strict=True)
        )


class _Asked(Sequence[int]):
    """The same two sets, read through PyTorch's functions."""

    def __init__(self, asked: tuple[Callable[[], int], Callable[[], int]]) -> None:
        self._asked = asked

    def __len__(self) -> int:
        return 2

    def __getitem__(self, which: Any) -> Any:
        return self._asked[which]()


K = DispatchKey
_AUTOGRAD = ALIASES[K.Autograd] & ~BACKEND_MASK
_ADINPLACE = raw(K.ADInplaceOrView)
_AUTOCAST = sum(raw(key) & ~BACKEND_MASK for key in K if key.name.startswith("Autocast"))

_FRONT = raw(K.FuncTorchDynamicLayerFrontMode)

_NAMES = {
    _AUTOGRAD | _ADINPLACE: "AutoDispatchBelowADInplaceOrView",
    _AUTOGRAD: "AutoDispatchBelowAutograd",
    _ADINPLACE: "AutoDispatchBelowADInplaceOrView",
}
"""Names of guards by the keys that they newly exclude, apart from autocast."""


def guard_name(old_included: int, included: int, old_excluded: int, excluded: int) -> str:
    """Return PyTorch's name for the guard between two states of a thread."""
    more = excluded & ~old_excluded & ~BACKEND_MASK
    if more & _FRONT and more & ~_FRONT:
        return "SaveLocalDispatchKeySet"  # a transform gets the call, without the keys of others
    if more and included == old_included:
        return _NAMES.get(more) or _NAMES.get(more & _AUTOGRAD) or "ExcludeDispatchKeyGuard"
    if more or excluded != old_excluded:
        return "ForceDispatchKeyGuard"
    return "IncludeDispatchKeyGuard"

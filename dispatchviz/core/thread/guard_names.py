"""Guards of a real PyTorch's kernels, derived: a kernel runs with other thread-local sets than the one that calls it.

Which guard that was follows from the keys that it excludes or includes; of those that change the same keys the
commonest.
"""

from __future__ import annotations

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import ALIASES, BACKEND_MASK, DispatchKey

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
"""By what is excluded more than before, apart from autocast."""


def guard_name(old_included: int, included: int, old_excluded: int, excluded: int) -> str:
    """PyTorch's name of the guard between two states of the thread."""
    more = excluded & ~old_excluded & ~BACKEND_MASK
    if more & _FRONT and more & ~_FRONT:
        return "SaveLocalDispatchKeySet"  # a transform gets the call, without the keys of others
    if more and included == old_included:
        return _NAMES.get(more) or _NAMES.get(more & _AUTOGRAD) or "ExcludeDispatchKeyGuard"
    if more or excluded != old_excluded:
        return "ForceDispatchKeyGuard"
    return "IncludeDispatchKeyGuard"

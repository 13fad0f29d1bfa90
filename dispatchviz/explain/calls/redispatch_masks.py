"""The named set with which a kernel masks its key set before it redispatches.

The events hold the sets before and after. The mask is the one that PyTorch's kernels for that key use. It is named only
if it explains the two sets.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.keys.key_set import after_ADInplaceOrView_keyset, after_autograd_keyset, full_after
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import recorded_key
from dispatchviz.explain.keys.key_text import is_autograd
from dispatchviz.explain.trace_index.enclosing_steps import kernel_before, key_of_kernel


class Mask(NamedTuple):
    """A named set that a kernel ANDs with the set it received."""

    name: str
    """``after_autograd_keyset``."""
    raw: int
    keeps: str
    """The keys that it keeps, as a text."""


AFTER_AUTOGRAD = Mask("after_autograd_keyset", after_autograd_keyset, "every key below the autograd keys")
AFTER_VIEW = Mask("after_ADInplaceOrView_keyset", after_ADInplaceOrView_keyset, "every key below ADInplaceOrView")


def mask_of(trace: Trace, redispatch: ev.Dispatched) -> Mask | None:
    """The mask between the calling kernel's set and a redispatch; None if no named mask explains the step."""
    kernel = kernel_before(trace, redispatch)
    if kernel is None:
        return None
    candidates = _candidates(key_of_kernel(trace, kernel), kernel.kernel)
    return next((mask for mask in candidates if kernel.key_set & mask.raw == redispatch.key_set), None)


def _candidates(key: str, kernel: str) -> tuple[Mask, ...]:
    if is_autograd(key):
        # the boxed kernel of operators without a derivative goes below ADInplaceOrView at once
        boxed = "notimplemented" in kernel.lower().replace("_", "")
        return (AFTER_VIEW, AFTER_AUTOGRAD) if boxed else (AFTER_AUTOGRAD, AFTER_VIEW)
    if key == "ADInplaceOrView":
        return (AFTER_VIEW,)
    found = recorded_key(key)
    if found in (DispatchKey.BackendSelect, DispatchKey.Undefined):
        return ()  # BackendSelect kernels make a new set for the requested device
    return (Mask(f"FULL_AFTER({key})", full_after(found), f"every key below {key}"),)

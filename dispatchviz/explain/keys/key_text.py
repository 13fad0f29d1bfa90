"""Key sets as text: the keys of a raw set, the purpose of a key, and the names of groups of keys.

A set has functionality bits and backend bits (``c10/core/DispatchKeySet.h``). A functionality that has a key for each
backend is shown as its runtime key (``AutogradCUDA``) if the set names one backend, else by its own name.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence

from dispatchviz.core.keys.key_set import autocast_dispatch_keyset, autograd_dispatch_keyset, members, raw
from dispatchviz.core.keys.keys import CUSTOMIZABLE, NUM_BACKENDS, BackendComponent, DispatchKey, runtime_key
from dispatchviz.foundation.english import hexed, listed

BACKENDS = 0xFFFF
"""The bits of a raw set that name backends."""

TOP = 61
"""The highest bit that a key has."""

_PURPOSES = {
    "BackendSelect": "adds the backend of the device that a call requests, mostly where no tensor argument has one",
    "Python": "calls Python code: __torch_dispatch__ of a tensor or of a mode",
    "Functionalize": "replaces in-place operators and views by functional ones",
    "Conjugate": "performs a conjugation that was lazy so far (conj bit)",
    "Negative": "performs a negation that was lazy so far (neg bit)",
    "ZeroTensor": "handles tensors of zeros that have no memory",
    "ADInplaceOrView": "bumps versions after in-place operators and sets the base of views",
    "AutogradOther": "records the backward graph for backends without an autograd key of their own",
    "AutogradFunctionality": "records the backward graph, so that gradients can be computed later",
    "AutogradNestedTensor": "records the backward graph for nested tensors",
    "Tracer": "records the call for torch.jit.trace",
    "FuncTorchBatched": "computes on a whole batch inside torch.vmap",
    "FuncTorchVmapMode": "checks the use of random numbers inside torch.vmap",
    "FuncTorchGradWrapper": "marks the tensors of torch.func.grad and jvp",
    "FuncTorchDynamicLayerFrontMode": "passes the call to the innermost torch.func transform",
    "FuncTorchDynamicLayerBackMode": "passes the call on to the next torch.func transform",
    "PythonTLSSnapshot": "saves the thread's key sets before Python code runs",
    "PythonDispatcher": "passes every call to a dispatcher written in Python",
    "PreDispatch": "passes the call to a mode before any other key",
    "Dense": "computes the result",
    "Quantized": "computes the result on quantized tensors",
    "Sparse": "computes the result on sparse tensors",
    "SparseCsr": "computes the result on sparse tensors stored by rows or columns",
    "NestedTensor": "computes the result on nested tensors",
    "MkldnnCPU": "computes the result on tensors laid out for MKL-DNN",
    "FPGA": "computes the result on an FPGA",
    "Vulkan": "computes the result with Vulkan",
    "Metal": "computes the result with Metal",
    "CustomRNGKeyId": "serves custom random number generators",
    "Fake": "is reserved for fake tensors; nothing is registered for it",
    "BatchedNestedTensor": "computes on a batch of nested tensors inside torch.vmap",
    "Batched": "computes on a whole batch in the older vmap",
    "VmapMode": "checks the use of random numbers in the older vmap",
    "DeferredInit": "is reserved for deferred initialization, out of tree",
    "TESTING_ONLY_GenericWrapper": "is for PyTorch's own tests",
    "TESTING_ONLY_GenericMode": "is for PyTorch's own tests",
}


def functionalities(ks: int) -> Iterator[DispatchKey]:
    """The functionality bits of a set as keys, highest priority first."""
    return iter(_functionalities(ks))


@functools.lru_cache(4096)
def _functionalities(ks: int) -> tuple[DispatchKey, ...]:
    return tuple(DispatchKey(bit - 15) for bit in range(TOP, 15, -1) if ks >> bit & 1)


@functools.lru_cache(4096)
def backends(ks: int) -> tuple[BackendComponent, ...]:
    """The backend bits of a set, highest priority first."""
    return tuple(backend for backend in reversed(BackendComponent) if ks & backend_bit(backend))


def backend_bit(backend: BackendComponent) -> int:
    """The bit of a backend as a raw set; 0 for none."""
    return 1 << (backend - 1) if backend else 0


def backend_name(backend: BackendComponent) -> str:
    """``CUDA``."""
    return runtime_key(DispatchKey.Dense, backend).name


@functools.cache
def is_per_backend(key: DispatchKey) -> bool:
    """Return whether a functionality joins with a backend bit to a runtime key: alone it is no key at all."""
    return bool(key) and next(members(raw(key)), None) is None


def runtime_name(key: DispatchKey, ks: int) -> str:
    """The name of a functionality in a set with one backend: ``AutogradCUDA``, ``CUDA``, ``BackendSelect``."""
    found = backends(ks)
    return runtime_key(key, found[0]).name if len(found) == 1 else key.name


def key_names(ks: int) -> list[str]:
    """The keys of a set, highest priority first."""
    return [key.name for key in members(ks)][::-1]


def shown(ks: int) -> str:
    """``0x1000010002 (AutogradCUDA, CUDA)``."""
    return f"{hexed(ks)} ({', '.join(key_names(ks)) or 'no keys'})"


def keys_text(ks: int) -> str:
    """A guard's keys as text: ``the autograd keys and ADInplaceOrView``."""
    names: list[str] = []
    if ks & autograd_dispatch_keyset == autograd_dispatch_keyset:
        names.append("the autograd keys")
        ks &= ~autograd_dispatch_keyset
    if ks & autocast_dispatch_keyset == autocast_dispatch_keyset:
        names.append("the autocast keys")
        ks &= ~autocast_dispatch_keyset
    return listed(names + [runtime_name(key, ks) for key in functionalities(ks)]) or "no keys"


def purpose(key: DispatchKey) -> str:
    """The purpose of the kernels at a functionality, as the end of a sentence that begins with the key."""
    if key.name.startswith("Autocast"):
        return "casts arguments to another precision inside torch.autocast"
    return _PURPOSES.get(key.name, "does a task of its own")


def is_autograd(name: str) -> bool:
    """Return whether a key (by name) is one of the autograd keys, but not the alias ``Autograd``."""
    return name.startswith("Autograd") and name != "Autograd"


def is_backend(name: str) -> bool:
    """Return whether the kernels for a key (by name) compute a result."""
    return name in _backend_names()


@functools.cache
def _backend_names() -> frozenset[str]:
    keys = (DispatchKey.Dense, DispatchKey.Quantized, DispatchKey.Sparse, DispatchKey.SparseCsr)
    per_backend = {key.name for key in members(raw(*keys, DispatchKey.NestedTensor) | BACKENDS)}
    return frozenset(per_backend | {"FPGA", "Vulkan", "Metal", "MkldnnCPU"})


TITLES = {"Dense": "dense backend", "AutogradFunctionality": "Autograd"}
"""The name for the keys of a functionality, if it differs from its own name."""

FEW = 4
"""The largest number of keys of one functionality that are named one by one."""


def grouped_keys_text(keys: Collection[DispatchKey]) -> str:
    """The keys, grouped by functionality, in table order."""
    return listed(list(grouped(keys)))


def grouped(keys: Collection[DispatchKey]) -> Iterator[str]:
    """A text for each functionality."""
    by_functionality: dict[DispatchKey, list[DispatchKey]] = {}
    for key in sorted(keys, key=lambda key: (key.functionality, key)):
        by_functionality.setdefault(key.functionality, []).append(key)
    for functionality, group in by_functionality.items():
        yield _group(functionality, group)


def _group(functionality: DispatchKey, group: list[DispatchKey]) -> str:
    names = [str(key) for key in group]
    return (
        ", ".join(names) if functionality not in CUSTOMIZABLE else group_text(functionality.name, names, NUM_BACKENDS)
    )


def group_text(functionality: str, names: Sequence[str], every: int) -> str:
    """The keys of a functionality that has ``every`` keys: their names, or their number if there are many."""
    if len(names) <= FEW:
        return ", ".join(names)
    title = TITLES.get(functionality, functionality)
    return f"the {every} {title} keys" if len(names) == every else f"{len(names)} of the {every} {title} keys"

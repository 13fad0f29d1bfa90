"""``torch._C._dispatch_*``: queries about keys, operators, kernels and tables, and setters of the conj and neg bits.

Mirrors ``initDispatchBindings`` of ``torch/csrc/utils/python_dispatch.cpp``.

NB: PyTorch lists operators in the order of a hash map, the model in order of registration.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.kernels import autograd_fallback
from dispatchviz.core.bindings import pybind
from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.bindings.python_keys import DispatchKey, DispatchKeySet, python_key
from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.keys import (
    BACKEND_MASK,
    CUSTOMIZABLE,
    KEY_BITS,
    NUM_BACKENDS,
    RUNTIME_KEYS,
    included_in_alias,
    parse_dispatch_key,
)
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.table import dump
from dispatchviz.core.table.library import process
from dispatchviz.core.tensor import conj_neg_bits
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.torch._C.operator_handle import existing_op, find_op

pybind.CONVERTERS["torch.Tensor"] = pybind.instances_of(Tensor)
_set = DispatchKeySet.from_raw_repr

# -- keys -------------------------------------------------------------------------------------------------------------


@bound("_dispatch_key_name(arg0: c10::DispatchKey) -> str")
def _dispatch_key_name(key: K) -> str:
    return str(key)


@bound("_dispatch_key_parse(arg0: c10::DispatchKey) -> c10::DispatchKey")
def _dispatch_key_parse(key: K) -> DispatchKey:
    return python_key(key)


@bound("_parse_dispatch_key(arg0: str) -> torch._C.DispatchKey | None")
def _parse_dispatch_key(name: str) -> DispatchKey | None:
    try:
        return python_key(parse_dispatch_key(name))
    except RuntimeError:
        return None


@bound("_to_functionality_key(arg0: c10::DispatchKey) -> c10::DispatchKey")
def _to_functionality_key(key: K) -> DispatchKey:
    return python_key(key.functionality)


@bound("_functionality_to_backend_keys(arg0: c10::DispatchKey) -> list[c10::DispatchKey]")
def _functionality_to_backend_keys(key: K) -> list[DispatchKey]:
    members = key_set.members(KEY_BITS[key] | BACKEND_MASK) if key in CUSTOMIZABLE else iter((key,))
    return [python_key(member) for member in members]


@bound("_dispatch_num_backends() -> int")
def _dispatch_num_backends() -> int:
    return NUM_BACKENDS


@bound("_dispatch_is_alias_key(arg0: torch._C.DispatchKey) -> bool")
def _dispatch_is_alias_key(key: K) -> bool:
    return key.is_alias


@bound("_dispatch_is_included_in_alias(arg0: torch._C.DispatchKey, arg1: torch._C.DispatchKey) -> bool")
def _dispatch_is_included_in_alias(key: K, alias: K) -> bool:
    return included_in_alias(key, alias)


@bound("_dispatch_has_backend_fallback(arg0: torch._C.DispatchKey) -> bool")
def _dispatch_has_backend_fallback(key: K) -> bool:
    cell = 0 if key == K.EndOfFunctionalityKeys else key_set.table_index(KEY_BITS[key])
    return RUNTIME_KEYS[cell] in process.fallbacks


@bound("_dispatch_get_backend_keyset_from_autograd(arg0: torch._C.DispatchKey) -> torch._C.DispatchKeySet")
def _dispatch_get_backend_keyset_from_autograd(key: K) -> DispatchKeySet:
    return _set(key_set.BACKENDS_OF_AUTOGRAD.get(key, 0))


# -- sets -------------------------------------------------------------------------------------------------------------

_after_autograd_keyset = _set(key_set.after_autograd_keyset)
_after_ADInplaceOrView_keyset = _set(key_set.after_ADInplaceOrView_keyset)
_dispatch_autogradother_backends = _set(key_set.autogradother_backends)
_additional_keys_to_prop_for_wrapper_tensors = _set(
    key_set.raw(
        *(K[layout + backend] for layout in ("", "Sparse", "SparseCsr") for backend in ("CPU", "CUDA", "XLA", "MPS")),
        *(K.XPU, K.HPU, K.PrivateUse1, K.Conjugate, K.Negative),
    )
)


@bound("_dispatch_keyset_full() -> torch._C.DispatchKeySet")
def _dispatch_keyset_full() -> DispatchKeySet:
    return _set(key_set.FULL)


@bound("_dispatch_keyset_full_after(arg0: torch._C.DispatchKey) -> torch._C.DispatchKeySet")
def _dispatch_keyset_full_after(key: K) -> DispatchKeySet:
    return _set(key_set.full_after(key))


@bound("_dispatch_keyset_to_string(arg0: torch._C.DispatchKeySet) -> str")
def _dispatch_keyset_to_string(keys: Any) -> str:
    return key_set.text(keys.raw_repr())


@bound("_dispatch_keys(arg0: torch.Tensor) -> torch._C.DispatchKeySet")
def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    return _set(tensor._ks)


@bound("_dispatch_key_set(arg0: torch.Tensor) -> str")
def _dispatch_key_set(tensor: Tensor) -> str:
    return key_set.text(tensor._ks)


@bound("_dispatch_isTensorSubclassLike(arg0: torch.Tensor) -> bool")
def _dispatch_isTensorSubclassLike(tensor: Tensor) -> bool:
    return is_tensor_subclass_like(tensor)


# -- operators --------------------------------------------------------------------------------------------------------


@bound("_dispatch_dump(arg0: str) -> str")
def _dispatch_dump(name: str) -> str:
    op = find_op(name)
    return "" if op is None else dump.dump_state(op)


@bound("_dispatch_dump_table(arg0: str) -> str")
def _dispatch_dump_table(name: str) -> str:
    op = find_op(name)
    return "" if op is None else dump.dump_table(op)


@bound("_dispatch_check_invariants(arg0: str) -> None")
def _dispatch_check_invariants(name: str) -> None:
    op = find_op(name)
    if op is not None:
        dump.check_invariants(op)


@bound("_dispatch_check_all_invariants() -> None")
def _dispatch_check_all_invariants() -> None:
    """Check every operator that was looked up; the others have no stored table that could be stale."""
    for op in list(process.operators.made()):
        dump.check_invariants(op)


@bound("_dispatch_find_dangling_impls() -> list[str]")
def _dispatch_find_dangling_impls() -> list[str]:
    return [dump.dump_state(process.operators[name]) for name in process.dangling()]


@bound("_dispatch_get_all_op_names() -> list[str]")
def _dispatch_get_all_op_names() -> list[str]:
    return process.names()


@bound("_dispatch_pystub(arg0: str, arg1: str) -> tuple[str, str] | None")
def _dispatch_pystub(name: str, overload: str) -> tuple[str, str] | None:
    """Return None. NB: in PyTorch, C++ libraries may name the Python module of their fake kernels; here none does."""
    return None


# -- kernels ----------------------------------------------------------------------------------------------------------


@bound("_dispatch_has_kernel(arg0: str) -> bool")
def _dispatch_has_kernel(name: str) -> bool:
    return find_op(name) is not None


@bound("_dispatch_has_kernel_for_dispatch_key(arg0: str, arg1: c10::DispatchKey) -> bool")
def _dispatch_has_kernel_for_dispatch_key(name: str, key: K) -> bool:
    return existing_op(name).kernel(key) is not None


@bound("_dispatch_has_kernel_for_any_dispatch_key(arg0: str, arg1: c10::DispatchKeySet) -> bool")
def _dispatch_has_kernel_for_any_dispatch_key(name: str, keys: Any) -> bool:
    raw = keys.raw_repr()
    return any(not key.is_alias and raw & key.bits == key.bits for key in existing_op(name).registrations)


@bound("_dispatch_kernel_for_dispatch_key_is_fallthrough(arg0: str, arg1: c10::DispatchKey) -> bool")
def _dispatch_kernel_for_dispatch_key_is_fallthrough(name: str, key: K) -> bool:
    """Return whether the kernel is a fallthrough. NB: in PyTorch, the process ends if the operator does not exist."""
    op = existing_op(name)
    kernel = op.kernel(key)
    if kernel is None:
        raise RuntimeError(f"no kernel for {key} on {op.name}")
    return kernel.fallthrough


@bound("_dispatch_has_computed_kernel_for_dispatch_key(arg0: str, arg1: str) -> bool")
def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key_name: str) -> bool:
    op, key = existing_op(name), parse_dispatch_key(key_name)
    if key.is_alias:
        raise RuntimeError("Alias keys do not have runtime kernel registrations.")
    return op.redispatch_lookup[KEY_BITS[key]].kernel is not None


@bound("_dispatch_get_registrations_for_dispatch_key(dispatch_key: str = '') -> list[str]")
def _dispatch_get_registrations_for_dispatch_key(dispatch_key: str) -> list[str]:
    if not dispatch_key:
        return process.names()
    key = parse_dispatch_key(dispatch_key)
    return [op.name for op in map(process.get, process.names()) if op is not None and op.kernel(key) is not None]


@bound("_dispatch_print_registrations_for_dispatch_key(dispatch_key: str = '') -> None")
def _dispatch_print_registrations_for_dispatch_key(dispatch_key: str) -> None:
    for name in _dispatch_get_registrations_for_dispatch_key(dispatch_key):
        print(name)


def _log_api_usage_once(event: str, /) -> None:
    """Do nothing, as a PyTorch without an API usage logger (``LogAPIUsageOnceFromPython`` in
    ``torch/csrc/Module.cpp``). Raise TypeError for anything but a string.
    """
    if not isinstance(event, str):
        raise TypeError("bad argument type for built-in operation")


@bound("_set_conj(arg0: torch.Tensor, arg1: bool) -> None")
def _set_conj(tensor: Tensor, conj: bool) -> None:
    """Set the conjugate bit in the tensor's key set, and change nothing else."""
    conj_neg_bits.set_conj(tensor, conj)


@bound("_set_neg(arg0: torch.Tensor, arg1: bool) -> None")
def _set_neg(tensor: Tensor, neg: bool) -> None:
    """Set the negative bit in the tensor's key set, and change nothing else."""
    conj_neg_bits.set_neg(tensor, neg)


@bound("_set_autograd_fallback_mode(arg0: str) -> None")
def _set_autograd_fallback_mode(mode: str) -> None:
    """Set the mode, ``nothing`` or ``warn``. Raise RuntimeError for ``error`` and for other strings."""
    autograd_fallback.set_autograd_fallback_mode(mode)


@bound("_get_autograd_fallback_mode() -> str")
def _get_autograd_fallback_mode() -> str:
    """Return the mode, ``warn`` by default."""
    return autograd_fallback.get_autograd_fallback_mode()

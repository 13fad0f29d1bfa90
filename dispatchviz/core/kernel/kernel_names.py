"""PyTorch's names of kernels, computed from the operator, the key and the file that registers the kernel.

The names are those of the generators in ``torchgen/dest/register_dispatch_key.py``, ``torchgen/api/native.py``,
``torchgen/api/cpp.py`` and ``tools/autograd/gen_variable_type.py``. If PyTorch has a hand-written or an instantiated
function without a specific name, the name is made of the operator and the file: ``add_Tensor
(BatchRulesBinaryOps.cpp)``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

_OUT = re.compile(r"\*, [^>]*\w!\)")
"""A pattern that matches the schema of an operator that writes to a keyword-only argument."""

_FILE = re.compile(r"registered at (?:\S*/)?(?P<name>(?P<stem>[^/:\s]+?)(?:_\d+)?\.\w+)(?::|$)")

STRUCTURED_KEYS = ("CPU", "CUDA", "Meta", "MPS", "XPU", "MTIA", "CompositeExplicitAutogradNonFunctional")
"""Keys for which an operator's structured kernel is generated. Its other kernels are ordinary."""

_NAMESPACES = {
    "VariableType": "VariableType",
    "VariableTypeManual": "VariableType",
    "ADInplaceOrViewType": "ADInplaceOrView",
    "TraceType": "TraceType",
    "TraceTypeManual": "TraceType",
    "RegisterFunctionalization": "functionalization",
}
"""The namespaces of the functions in a file, by the stem of its name."""

FALLTHROUGH = "fallthrough_kernel"
"""The one function behind every fallthrough (``ATen/core/boxing/KernelFunction.cpp``)."""

NOT_IMPLEMENTED = {
    "VariableType": "autogradNotImplementedFallback",
    "ADInplaceOrViewType": "autogradNotImplementedInplaceOrViewFallback",
}
"""Boxed kernels that the autograd generator registers for operators without a derivative."""

FALLBACKS = {
    "Named": "named_not_supported_kernel",  # a key of releases before 2.13
    "Meta": "metaFallback",
    "Python": "pythonFallback",
    "FuncTorchDynamicLayerBackMode": "dynamicLayerBackFallback",
    "Functionalize": "functionalizeFallback",
    "Conjugate": "conjugateFallback",
    "Negative": "negationFallback",
    "ZeroTensor": "zeroTensorFallback",
    "Tracer": "general_trace_function",
    "FuncTorchBatched": "batchedTensorForLoopFallback",
    "BatchedNestedTensor": "batchedNestedTensorForLoopFallback",
    "Batched": "at::batchedTensorForLoopFallback",  # the older vmap's
    "FuncTorchGradWrapper": "dead_tensor_wrapper_fallback",
    "PythonTLSSnapshot": "pythonTLSSnapshotFallback",
    "FuncTorchDynamicLayerFrontMode": "dynamicLayerFrontFallback",
    "PreDispatch": "preDispatchFallback",
    "PythonDispatcher": "pythonDispatcherFallback",
}
"""The functions behind the backend fallbacks that are neither a fallthrough nor a backend's ``autograd_fallback``."""


LAMBDA = "<lambda>"
"""Python's name of every lambda."""


def function_name(function: Callable[..., Any]) -> str:
    """The name of a kernel that is a Python function. A lambda has its place: ``<lambda> at mylib.py:12``."""
    name = str(getattr(function, "__name__", type(function).__name__))
    code = getattr(function, "__code__", None)
    if name != LAMBDA or code is None:
        return name
    return f"{LAMBDA} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def without_place(kernel: str) -> str:
    """The name of a kernel, which is ``<lambda>`` for every lambda."""
    return LAMBDA if kernel.startswith(f"{LAMBDA} at ") else kernel


def fallback_name(key: str, fallthrough: bool) -> str:
    """PyTorch's name of its backend fallback for a key."""
    return FALLTHROUGH if fallthrough else FALLBACKS.get(key, "autograd_fallback")


def kernel_name(
    schema: str, key: str, debug: str, structured: bool, boxed: bool = False, composite: bool = False
) -> str:
    """PyTorch's name of an operator's kernel for a key. ``debug`` is the place of its registration.

    ``structured``: the operator's kernels are generated from a meta and an impl function. ``boxed``: the kernel has no
    signature of its own. ``composite``: the operator has a CompositeImplicitAutograd kernel.
    """
    base, _, overload = schema.partition("(")[0].rpartition("::")[2].partition(".")
    function = f"{base}_out" if _OUT.search(schema) else base
    identifier = f"{function}_{overload}" if overload else function
    match = _FILE.search(debug)
    if match is None:
        return identifier
    stem, file = match["stem"], match["name"]
    if boxed:
        return NOT_IMPLEMENTED.get(stem) or f"{identifier} ({file})"
    if stem == "RegisterBackendSelect":
        return identifier
    if stem == f"Register{key}":
        structured = structured and key in STRUCTURED_KEYS
        return f"wrapper_{key}_{identifier if structured else f'{overload}_{function}'}"
    if stem == "RegisterFunctionalization" and composite:
        return f"native::{function}"  # decomposed there, too
    if stem in _NAMESPACES:
        return f"{_namespace(stem, key)}::{identifier}{_suffix(stem, key)}"
    return f"{identifier} ({file})"


def _namespace(stem: str, key: str) -> str:
    """The namespace of a kernel. Hand-written ADInplaceOrView kernels are in VariableTypeManual.cpp, too."""
    return "ADInplaceOrView" if key == "ADInplaceOrView" else _NAMESPACES[stem]


def _suffix(stem: str, key: str) -> str:
    """The suffix of an autograd kernel for a single key: ``view_AutogradNestedTensor``."""
    return f"_{key}" if stem == "VariableType" and key != "Autograd" else ""

"""PyTorch's own registrations of the model's operators, and the names of their kernels.

The data (``native/registrations.json``) is written by ``scripts/snapshot_dispatch.py`` from an installed PyTorch: under
which key, registered where, boxed or not. How a kernel is called in PyTorch follows from where it is registered; that
rule is ``kernel_name``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from dispatchviz.core.kernel import Kernel
from dispatchviz.core.keys import DispatchKey

BOXED, UNBOXED, FALLTHROUGH = 1, 2, 4
"""Flags of a registration."""

CUDA_DEBUG = "registered at build/aten/src/ATen/RegisterCUDA.cpp"
"""The snapshot is of a CPU build; CUDA registrations come from native_functions.yaml, without a line."""

FALLBACK_NAMES = {
    "Meta": "metaFallback",
    "BackendSelect": "fallthrough",
    "Python": "pythonFallback",
    "FuncTorchDynamicLayerBackMode": "dynamicLayerBackFallback",
    "Functionalize": "functionalizeFallback",
    "Conjugate": "conjugateFallback",
    "Negative": "negationFallback",
    "ZeroTensor": "zeroTensorFallback",
    "ADInplaceOrView": "fallthrough",
    "Tracer": "general_trace_function",
    "FuncTorchBatched": "batchedTensorForLoopFallback",
    "BatchedNestedTensor": "batchedNestedTensorForLoopFallback",
    "Batched": "batchedTensorForLoopFallback",
    "FuncTorchGradWrapper": "dead_tensor_wrapper_fallback",
    "PythonTLSSnapshot": "pythonTLSSnapshotFallback",
    "FuncTorchDynamicLayerFrontMode": "dynamicLayerFrontFallback",
    "PreDispatch": "preDispatchFallback",
    "PythonDispatcher": "pythonDispatcherFallback",
}
"""The functions behind the backend fallbacks; Autograd keys have ``autograd_fallback``, the rest are fallthroughs."""


@cache
def _snapshot() -> dict[str, Any]:
    path = Path(__file__).parent / "native" / "registrations.json"
    data: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return data


def pytorch_registrations(name: str, structured: bool = False) -> Iterator[tuple[DispatchKey, Kernel]]:
    """PyTorch's kernels of an operator, newest first under each key; they have no function."""
    data = _snapshot()
    for key, debug, flags in data["operators"].get(name, ()):
        yield (
            DispatchKey[key],
            _kernel(kernel_name(name, key, data["debug"][debug], structured), data["debug"][debug], flags),
        )


def pytorch_fallbacks() -> Iterator[tuple[DispatchKey, Kernel]]:
    """PyTorch's 38 backend fallbacks, without functions."""
    data = _snapshot()
    for key, debug, flags in data["fallbacks"]:
        default = "autograd_fallback" if key.startswith("Autograd") else "fallthrough"
        yield DispatchKey[key], _kernel(FALLBACK_NAMES.get(key, default), data["debug"][debug], flags)


def _kernel(name: str, debug: str, flags: int) -> Kernel:
    return Kernel(name, None, debug, not flags & UNBOXED, bool(flags & FALLTHROUGH), bool(flags & UNBOXED))


_OUT_OVERLOAD = re.compile(r"(^|_)out(_|$)|^grad_input$")
"""Overloads that write to an out argument: ``out``, ``IntList_out``, ``out_mode``."""


def kernel_name(name: str, key: str, debug: str, structured: bool) -> str:
    """What PyTorch calls a kernel, from the operator, the key and the file that registers it."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    function = f"{base}_out" if _OUT_OVERLOAD.search(overload) else base
    identifier = f"{function}_{overload}" if overload else function
    match = re.search(r"([A-Za-z]+?)(?:_\d+)?(?:Everything|Manual)?\.(?:cpp|cu|py|h)", debug)
    stem = match[1] if match else ""
    if stem in ("VariableType", "TraceType", "ADInplaceOrViewType"):
        return f"{'ADInplaceOrView' if key == 'ADInplaceOrView' else stem}::{identifier}"
    if stem == "RegisterBackendSelect":
        return identifier
    if stem == f"Register{key}":
        return f"wrapper_{key}_{identifier if structured else f'{overload}_{function}'}"
    if stem == "RegisterFunctionalization":
        return f"functionalization::{identifier}"
    return f"{stem or key}::{identifier}"

"""Operators without a kernel for a backend, or for a dtype."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    arguments,
    called,
    created,
    diagnosed,
    fact,
    failed_call,
    reference,
    spelled,
)
from dispatchviz.explain.diagnosis.call_errors.dtypes import NAMES
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import listed

BACKEND = re.compile(r"Could not run '(\S+)' with arguments from the '(\w+)' backend")
NO_META = re.compile(r"^(\S+): attempted to run this operator with Meta tensors")
AVAILABLE = re.compile(r"is only available for these backends: \[(.*?)\]")
DTYPE = re.compile(r"not implemented for '(\w+)'")

BACKENDS = ("CPU", "CUDA", "MPS", "XPU", "Meta", "SparseCPU", "SparseCUDA", "QuantizedCPU", "CompositeImplicitAutograd")

LOW = ("float16", "bfloat16")


def backend(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an operator without a kernel for the backend of its arguments."""
    names, call = BACKEND.search(failure.message), failed_call(failure)
    of_meta = NO_META.search(failure.message)
    if call is None or (names is None and of_meta is None):
        return None
    full, key = (names[1], names[2]) if names is not None else (of_meta[1] if of_meta is not None else "", "Meta")
    operator = full.removeprefix("aten::")
    of_backend = [each for each in arguments(failure) if _has(each, key)]
    whose = f", the backend of {listed(list(dict.fromkeys(each.name for each in of_backend)))}" if of_backend else ""
    text = f"{called(failure)} has no kernel for {key}{whose}.{_others(failure, operator)}"
    if operator.partition(".")[0] != spelled(call):
        text = f"{called(failure)} calls {operator}, which has no kernel for {key}{whose}.{_others(failure, operator)}"
    return diagnosed(
        failure, Statement("no kernel: backend", text), _backend_fixes(failure, full, key, of_backend), of_backend
    )


def _has(one: Argument, key: str) -> bool:
    try:
        return DispatchKeySet.from_raw_repr(one.key_set).has(DispatchKey[key])
    except KeyError:
        return False


def _others(failure: Failure, operator: str) -> str:
    """Return ``It has kernels for CPU and CUDA.``"""
    listing = AVAILABLE.search(failure.message)
    if listing is None or "::" not in operator:
        return ""
    there = [each for each in listing[1].split(", ") if each in BACKENDS and each != "Meta"]
    return f" It has kernels for {listed(there)}." if there else ""


def _backend_fixes(failure: Failure, operator: str, key: str, found: Sequence[Argument]) -> tuple[str, ...]:
    it = reference(found[0], "") if found else ""
    if not operator.startswith("aten::"):
        registered = _registered(failure, operator)
        where = f", as on {registered}" if registered else ""
        return (
            f"Register a kernel for {key}{where}: Library.impl({operator.partition('::')[2]!r}, function, {key!r}).",
        )
    if key.startswith("Sparse"):
        return (f"Make it dense before the call: {it}.to_dense().",)
    if key.startswith("Quantized"):
        return (f"Make it a floating point tensor before the call: {it}.dequantize().",)
    return ("Use an operator that has a kernel for this backend, or move the arguments to the CPU.",)


def _registered(failure: Failure, operator: str) -> str:
    """Return the line of the program that registered a kernel of the operator."""
    steps = failure.trace.steps_of(ev.KernelRegistered)
    events = (failure.trace[step] for step in steps)
    mine = (each for each in events if isinstance(each, ev.KernelRegistered) and each.operator == operator)
    first = next(mine, None)
    return "" if first is None else on_line(failure.trace, first.seq)


def dtype(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``"softmax_lastdim_kernel_impl" not implemented for 'Long'``."""
    named = DTYPE.search(failure.message)
    name = NAMES.get(named[1], "") if named is not None else ""
    return _no_dtype(failure, name, "has no kernel for") if name else None


def from_arguments(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a message that names the rejected dtype but not the kernel."""
    found = arguments(failure)
    refused = [each for each in found if each.dtype in (*LOW, "complex64", "complex128")]
    return _no_dtype(failure, refused[0].dtype, "does not take") if refused else None


def _no_dtype(failure: Failure, name: str, says: str) -> Diagnosis | None:
    if failed_call(failure) is None:
        return None
    found = [each for each in arguments(failure) if each.dtype == name]
    whose = f", and {fact(found[0], 'dtypes')}" if found else ""
    where = f" on {found[0].device}" if found and "kernel" in says else ""
    text = f"{called(failure)} {says} {name}{where}{whose}."
    return diagnosed(failure, Statement("no kernel: dtype", text), (_dtype_fix(failure, name, found),), found)


def _dtype_fix(failure: Failure, name: str, found: Sequence[Argument]) -> str:
    if not found:
        return f"Request another dtype than {name} on {on_line(failure.trace, failure.raised, text=False)}."
    one = found[0]
    it, made = reference(one, "the tensor"), created(failure, one)
    begin = it if it == one.name else ""
    if name.startswith("complex"):
        return f"Compute with the real numbers in {it}: {begin}.real, {begin}.imag or {begin}.abs()."
    where = f", or create it so on {made}" if made and it == one.name else ""
    return f"Convert {it}: {begin}.float(){where}."


RULES = (
    ("with arguments from the", backend),
    ("attempted to run this operator with Meta tensors", backend),
    ("not implemented for '", dtype),
    ("is not supported for complex inputs", from_arguments),
    ("does not support complex", from_arguments),
    ("Low precision dtypes not supported", from_arguments),
    ("Unsupported dtype", from_arguments),
)

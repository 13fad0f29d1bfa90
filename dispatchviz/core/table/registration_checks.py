"""The checks of a registration: the kernel's C++ signature, the schema inferred from it, and the kernel that it
overrides.

This module mirrors the first half of ``OperatorEntry::registerKernel`` and ``registerSchema`` in
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``. A failed check changes nothing, with one exception, as in PyTorch: a
kernel whose signature is the operator's first has fixed it.

Rule 1: of definition and kernel, the one that comes second is compared with the first.
Rule 2: the first typed kernel fixes the operator's signature permanently. Later ones must have the same.

Kernels whose signature is unknown (``Kernel.cpp`` is None) always pass: PyTorch's own, and those of tests.
"""

from __future__ import annotations

from dispatchviz.core.kernel.cpp_signature import (
    CppSignatureWithDebug,
    schema_difference,
    signature_name,
    with_real_types,
)
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.table import registration_errors
from dispatchviz.core.table.initialization_order import initialization_order
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.thread import warning

_NEVER_WARNED_OF = (DispatchKey.Meta, DispatchKey.MTIA)
"""Keys for which overriding never warns. At Meta, Python kernels override C++ ones; at MTIA, overriding falls back to
the CPU.
"""


def check_kernel(op: OperatorEntry, key: DispatchKey | None, kernel: Kernel) -> None:
    """Check a kernel before it is registered. Raise RuntimeError with PyTorch's text if it does not fit."""
    if kernel.typed:
        _check_signature(op, key, kernel)
    if kernel.cpp is not None and op.has_schema:
        _check_schema(op, op.schema, op.debug, kernel)


def check_definition(op: OperatorEntry, schema: FunctionSchema, debug: str) -> None:
    """Check the kernels of an operator before it is defined. Raise RuntimeError with PyTorch's text if one does not
    fit.

    NB: if several do not fit, PyTorch names the one that comes first in a hash map.
    """
    for kernels in op.registrations.values():
        for kernel in kernels:
            if kernel.cpp is not None:
                _check_schema(op, schema, debug, kernel)


def _check_schema(op: OperatorEntry, schema: FunctionSchema, debug: str, kernel: Kernel) -> None:
    assert kernel.cpp is not None
    expected = with_real_types(schema, symbolic=not kernel.unboxed)
    reason = schema_difference(expected, kernel.cpp.schema)
    if reason is not None:
        fields = {"expected": expected, "expected_debug": debug, "inferred_debug": kernel.debug, "reason": reason}
        raise RuntimeError(
            registration_errors.SCHEMA_MISMATCH.format(name=op.name, inferred=kernel.cpp.schema, **fields)
        )


# -- signatures -------------------------------------------------------------------------------------------------------


def _check_signature(op: OperatorEntry, key: DispatchKey | None, kernel: Kernel) -> None:
    symbolic = not kernel.unboxed
    first = fixed_signature(op, symbolic) or CppSignatureWithDebug(_name(op, kernel), kernel.debug, key)
    op.fixed_signatures[symbolic] = first
    if kernel.cpp is not None and first.name != kernel.cpp.name:
        raise RuntimeError(
            registration_errors.SIGNATURE_MISMATCH.format(
                **_operator_text(op),
                first=first,
                first_key=_key_text(first.key),
                name=kernel.cpp.name,
                key=_key_text(key),
                debug=kernel.debug,
            )
        )


def fixed_signature(op: OperatorEntry, symbolic: bool) -> CppSignatureWithDebug | None:
    """The signature of an operator's kernels; None if it never had a typed kernel of this form."""
    return op.fixed_signatures.get(symbolic) or min(
        (
            CppSignatureWithDebug(_name(op, kernel), kernel.debug, key)
            for key, kernels in op.registrations.items()
            for kernel in kernels
            if kernel.typed and kernel.unboxed is not symbolic
        ),
        key=lambda fixed: initialization_order(fixed.debug),
        default=None,
    )


def _name(op: OperatorEntry, kernel: Kernel) -> str:
    if kernel.cpp is not None:
        return kernel.cpp.name
    return signature_name(op.schema, symbolic=not kernel.unboxed) if op.has_schema else ""


# -- overriding -------------------------------------------------------------------------------------------------------


def warn_of_overriding(op: OperatorEntry, key: DispatchKey | None, kernel: Kernel) -> None:
    """Warn that a kernel overrides another one, once per process."""
    if key in _NEVER_WARNED_OF:
        return
    first = fixed_signature(op, symbolic=False) or fixed_signature(op, symbolic=True)
    previous = (
        registration_errors.NO_DEBUG if first is None else first.debug
    )  # not necessarily the one that is overridden
    text = registration_errors.OVERRIDDEN.format(
        **_operator_text(op), key=_key_text(key), previous=previous, new=kernel.debug
    )
    warning.warn_once(registration_errors.OVERRIDDEN, text, registration_errors.OVERRIDDEN_AT)


def _operator_text(op: OperatorEntry) -> dict[str, object]:
    if op.has_schema:
        return {"operator": op.schema, "operator_debug": op.debug}
    return {"operator": op.name, "operator_debug": registration_errors.NO_DEBUG}


def _key_text(key: DispatchKey | None) -> str:
    return registration_errors.CATCH_ALL if key is None else str(key)

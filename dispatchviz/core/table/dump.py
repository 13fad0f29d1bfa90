"""PyTorch's dumps of an operator: registrations, computed table, and the errors of a failed lookup.

This module mirrors ``OperatorEntry::dumpState``, ``dumpComputedTable``, ``reportError`` and ``checkInvariants`` of
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``.

NB: in PyTorch, the texts of internal assertions have the absolute path of the machine that built it. Here they have the
path in its source tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry

AMBIGUITY = (
    '0 INTERNAL ASSERT FAILED at "aten/src/ATen/core/boxing/KernelFunction.cpp":23, please report a bug to PyTorch. '
    "{name} has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther. This makes "
    "the backend kernel unreachable; the dispatcher will always prefer the CompositeImplicitAutograd lowering (see "
    "Note [Ambiguity in AutogradOther kernel]). If you want to override CompositeImplicitAutograd, please open an "
    "issue to request a dedicated Autograd dispatch key for the backend.\n"
    "If you only want to run inference instead of training, in C++, add `c10::InferenceMode mode;` before "
    "model.forward(); in Python, use `torch.inference_mode()` as a context manager (see "
    "https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html).\n"
    "Canonical state\n~~~~~~~~~~~\n{state}\n\n"
)
NO_TENSORS = (
    "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no fallback "
    "function is registered for schema {name}.  This usually means that this function requires a non-empty list of "
    "Tensors, or that you (the operator writer) forgot to register a fallback function.  Available functions are "
    "[{keys}].\n\n{table}"
)
NO_KERNEL = (
    "Could not run '{name}' with arguments from the '{key}' backend. This could be because the operator doesn't exist "
    "for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a "
    "Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
    "'{name}' is only available for these backends: [{keys}].\n\n{table}"
)
CALLBACK_RETURNED = (
    'false INTERNAL ASSERT FAILED at "aten/src/ATen/core/dispatch/OperatorEntry.cpp":629, please report a bug to '
    "PyTorch. "
)
STALE = (
    "expected_k._equalsBoxedAndUnboxed(dispatchTable_[idx]) INTERNAL ASSERT FAILED at "
    '"aten/src/ATen/core/dispatch/OperatorEntry.cpp":565, please report a bug to PyTorch. '
    "Canonical state\n~~~~~~~~~~~\n{state}\n\nComputed table:\n~~~~~~~~~~~\n{table}"
)


def dump_state(op: OperatorEntry) -> str:
    """The text of ``_dispatch_dump``: the definition and every registration, including inactive ones, in the order of
    key values.
    """
    return "".join(f"{line}\n" for line in _state_lines(op))


def _state_lines(op: OperatorEntry) -> Iterator[str]:
    schema = op.schema if op.has_schema else None
    yield f"name: {op.name}"
    if schema is None:
        yield "schema: (none)"
    else:
        yield from (f"schema: {schema}", f"debug: {op.debug}", f"alias analysis kind: {op.alias_analysis}")
    for key in sorted(op.registrations):
        for position, kernel in enumerate(op.registrations[key]):
            marks = ("[alias]" if key.is_alias else "") + (" (inactive)" if position else "")
            yield f"{key}{marks}: {kernel.row(schema)}"


def dump_table(op: OperatorEntry) -> str:
    """The text of ``_dispatch_dump_table``: every valid entry, recomputed now, with its reason. The stored table may
    differ.
    """
    cells = (op.compute(key) for key in RUNTIME_KEYS)
    return "".join(f"{cell_row(cell)}\n" for cell in cells if cell.kernel is not None)


def cell_row(cell: Cell) -> str:
    """The line of an entry, ``CPU: registered at FILE:LINE [kernel]``."""
    kernel = cell.kernel
    description = "" if kernel is None else f"{'fallthrough ' * kernel.fallthrough}{kernel.debug} "
    return f"{cell.key}: {description}[{cell.reason}]"


def stale_keys(op: OperatorEntry) -> list[DispatchKey]:
    """Keys whose stored entry differs from the one computed now; without Undefined, as in PyTorch."""
    return [cell.key for cell in op.table[1:] if _differs(cell, op.compute(cell.key))]


def _differs(stored: Cell, recomputed: Cell) -> bool:
    if stored.kernel is None or recomputed.kernel is None:
        return stored.kernel is not recomputed.kernel
    return stored.kernel.identity is not recomputed.kernel.identity


def check_invariants(op: OperatorEntry) -> None:
    """Raise RuntimeError with PyTorch's text if a stored entry is stale (``_dispatch_check_invariants``)."""
    if stale_keys(op):
        raise RuntimeError(STALE.format(state=dump_state(op), table=dump_table(op)))


def report_missing(op: OperatorEntry, ks: int) -> NoReturn:
    """Raise the error of a lookup without a kernel (``reportError``), after checking the invariants and calling the
    operator's callback.

    It is a NotImplementedError, or a RuntimeError if an entry is stale or the callback returns.

    NB: in PyTorch, a backend that took the key PrivateUse1 has its own name here.
    """
    check_invariants(op)
    key = highest(ks)
    if op.report_error_callback is not None:
        op.report_error_callback(str(key))
        raise RuntimeError(CALLBACK_RETURNED)
    keys = ", ".join(str(cell.key) for cell in op.table[1:] if cell.kernel is not None)
    text = NO_TENSORS if key == DispatchKey.Undefined else NO_KERNEL
    raise NotImplementedError(text.format(name=op.name, key=key, keys=keys, table=dump_table(op)))


def report_ambiguous(op: OperatorEntry) -> NoReturn:
    """Raise the error of the kernel of an ambiguous AutogradOther entry."""
    raise RuntimeError(AMBIGUITY.format(name=op.name, state=dump_state(op)))

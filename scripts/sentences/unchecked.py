"""Kinds of sentences that PyTorch is not asked about, by reason."""

from __future__ import annotations

UNCHECKED: dict[str, tuple[str, ...]] = {
    "says what the program did, nothing about PyTorch": (
        "line reached",
        "name bound",
        "printed",
        "program interrupted",
        "program ended",
        "error",
        "error: rule",
        "error: who changed it",
    ),
    "repeats its event; the events themselves are compared with PyTorch's log, graphs and order": (
        "call: highest key",
        "call: boxed",
        "call for a key",
        "called by a binding",
        "called by functorch",
        "called by a kernel",
        "called by a Node",
        "called by the engine",
        "called for the first gradient",
        "called by the program",
        "redispatch: given set",
        "redispatch: BackendSelect",
        "redispatch: BackendSelect with tensors",
        "key set: empty",
        "key set: autograd wins",
        "key set: higher keys kept out",
        "key set: highest wins",
        "boxed arguments",
        "boxed results",
        "unboxed",
        "kernel runs",
        "kernel returns",
        "kernel: key set",
        "kernel: composite",
        "kernel: composite without calls",
        "kernel: explicit composite",
        "kernel: backend",
        "kernel: backend with help",
        "kernel: Meta",
        "kernel: BackendSelect",
        "kernel: BackendSelect with tensors",
        "kernel: ADInplaceOrView",
        "kernel: autocast",
        "kernel: functorch",
        "autograd kernel",
        "autograd kernel: detach",
        "autograd kernel: nothing to record",
        "autograd fallback",
        "autograd fallback: warns",
        "signature",
    ),
    "repeats a registration; tables after any history of registrations are compared with PyTorch's": (
        "kernel registered",
        "kernel removed",
        "cells change",
    ),
    "says what a key or an alias is for, in words": (
        "key: what for",
        "key: functionality",
        "key: Undefined",
        "alias: what it is",
        "alias: stands for",
        "autograd cell: generated",
        "autograd cell: Python",
    ),
    "asked of PyTorch by a test of its own (tests/claims/test_tables.py)": (
        "fallthrough: redispatch",
        "fallthrough: PythonDispatcher loops",
    ),
}
"""Reason to kinds."""


def reason(kind: str) -> str:
    """Why a kind is not asked about; empty if it is not listed here."""
    return next((why for why, kinds in UNCHECKED.items() if kind in kinds), "")

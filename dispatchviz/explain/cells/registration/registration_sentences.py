"""Sentences on one registration: the entries it is for, those that take it, and those that stay as they were.

They describe the operator after the registration. ``cell_claims`` explains why an entry holds its kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, CELL, DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import (
    AMBIGUOUS,
    AUTOGRAD,
    BATCHED,
    DEFAULT_BACKEND,
    KERNEL,
    MATH,
    NESTED,
    affected_by,
)
from dispatchviz.explain.cells.registration.registrations import DEFINITION, FALLBACK, Registration
from dispatchviz.explain.keys.key_order import ALIAS_TEXTS
from dispatchviz.foundation.english import counted, listed

K = DispatchKey

_KEPT = {
    KERNEL: "a kernel of the key itself",
    DEFAULT_BACKEND: "the kernel of a CompositeExplicitAutograd alias",
    NESTED: "the kernel of CompositeImplicitAutogradNestedTensor",
    MATH: "the kernel of CompositeImplicitAutograd",
    AUTOGRAD: "the kernel of Autograd",
    BATCHED: "the kernel of FuncTorchBatchedDecomposition",
    AMBIGUOUS: "a kernel that only raises an error",
}
"""The content that an entry keeps although another kernel was registered for it, by reason."""


def sentences(name: str, op: OperatorEntry | None, made: Registration, new: bool) -> Iterator[str]:
    """Yield the sentences on a registration that was just made. ``op`` is None as long as the operator has no
    OperatorEntry; ``new`` is True if this registration created it.
    """
    if new:
        yield _entry(name, op)
    if made.what == DEFINITION:
        yield _definition(op)
    elif made.what == FALLBACK:
        yield from _fallback(name, op, made)
    elif made.removed:
        yield f"PyTorch recomputes the entries that {_kernel(made)} was registered for, without it."
    elif op is not None:
        yield from _covers(op, made)


def out_of_date(
    op: OperatorEntry, made: Registration, before: Collection[str], after: Collection[str]
) -> Iterator[str]:
    """Yield sentences on entries that a registration leaves out of date, or updates: ``before`` and ``after`` are their
    keys.
    """
    for key in (DispatchKey[name] for name in after if name not in before):
        now = op.compute(key)
        yield (
            f"The entry for {key} is now out of date. Recomputed, it would {_holds(now)}, but a registration for "
            f"{made.key} does not make PyTorch recompute it. A later one that covers {key} does."
        )
    mended = [name for name in before if name not in after]
    if mended:
        verbs = ("was", "is") if len(mended) == 1 else ("were", "are")
        yield f"{listed(mended)} {verbs[0]} out of date, and {verbs[1]} no longer."


def _kernel(made: Registration) -> str:
    return made.kernel.name if made.kernel else ""


def _entry(name: str, op: OperatorEntry | None) -> str:
    fallbacks = sum(cell.reason == "backend fallback" for cell in op.table) if op else 0
    come = "fills its entry" if fallbacks == 1 else "fill their entries"
    filled = f"; the {counted(fallbacks, 'fallback')} so far {come}" if fallbacks else ""
    return (
        f"{name} is named for the first time, so PyTorch creates its OperatorEntry: a dispatch table of 137 entries, "
        f"and a mask that keeps every key{filled}."
    )


def _definition(op: OperatorEntry | None) -> str:
    before = sum(map(len, op.registrations.values())) if op else 0
    came = "has" if before == 1 else "have"
    waited = (
        (f" {counted(before, 'kernel').capitalize()} {came} been registered before it, under the name alone.")
        if before
        else ""
    )
    return f"The definition gives the operator its schema. It fills no entry.{waited}"


def _fallback(name: str, op: OperatorEntry | None, made: Registration) -> Iterator[str]:
    assert made.key is not None
    if op is None:
        yield (
            f"A fallback is for all operators. The dispatcher keeps it (backendFallbackKernels_); {name} has no "
            "OperatorEntry yet and takes the fallback when it gets one."
        )
        return
    cell = _cell(op, made.key)
    yield f"A fallback is for all operators, so each of them recomputes its entry for {made.key}."
    if cell.kernel is not made.kernel and not made.removed:
        yield f"This operator has a better kernel there, {_shown(cell)}, so its table does not change."


def _covers(op: OperatorEntry, made: Registration) -> Iterator[str]:
    """Yield sentences on the entries that a kernel is for."""
    assert made.key is not None
    if made.key in ALIAS_MEMBERS:
        yield from _alias(op, made, made.key)
    elif made.key in CELL:
        yield from _runtime(op, made, made.key)
    else:
        yield (
            f"{made.key} is a building block of other keys and has no dispatch table entry, so the kernel is never "
            "called."
        )


def _runtime(op: OperatorEntry, made: Registration, key: DispatchKey) -> Iterator[str]:
    others = [other for other in affected_by(key) if other != key]
    if others:
        yield (
            f"The kernel is for {key} only. PyTorch also recomputes the entry for {listed(list(map(str, others)))}, "
            "because the kernels of the backend decide whether a composite may fill an autograd entry."
        )
    else:
        yield f"The kernel is for {key} only."
    behind = op.registrations[key][1:]
    if behind:
        yield f"{behind[0].name}, registered before, is kept behind it but inactive."


def _alias(op: OperatorEntry, made: Registration, key: DispatchKey) -> Iterator[str]:
    members = ALIAS_MEMBERS[key]
    none = f"{key} is an alias: no tensor has it, and it has no dispatch table entry."
    if len(members) == 1:
        (only,) = members
        yield f"{none} It covers {only} alone, whose entry is recomputed."
        return
    yield f"{none} It covers {len(members)} keys: {ALIAS_TEXTS[key]}."
    covered = [_cell(op, member) for member in members]
    undefined = ", and that of Undefined" if _cell(op, K.Undefined).kernel is made.kernel else ""
    taken = sum(cell.kernel is made.kernel for cell in covered)
    kept = Counter(_KEPT.get(cell.reason, "what they had") for cell in covered if cell.kernel is not made.kernel)
    rest = "".join(
        f"; {'one keeps' if number == 1 else f'{number} keep'} {what}" for what, number in kept.most_common()
    )
    which = "all of them" if taken == len(members) else f"{taken} of them" if taken else "none of them"
    yield f"All their entries are recomputed. The kernel fills {which}{undefined}{rest}."


def _holds(cell: Cell) -> str:
    return f"hold {_shown(cell)}" if cell.kernel else "be empty"


def _shown(cell: Cell) -> str:
    return f"{cell.kernel.name} [{cell.reason}]" if cell.kernel else "nothing"


def _cell(op: OperatorEntry, key: DispatchKey) -> Cell:
    return op.table[op.cell_of(key)]

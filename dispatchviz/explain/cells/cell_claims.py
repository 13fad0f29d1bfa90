"""Sentences on the reason for an entry: the rule that filled it, and the outcome of every other candidate."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import BACKENDS_OF_AUTOGRAD, members
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.table.operator_entry import (
    NOT_CONSIDERED,
    NOT_COVERED,
    NOTHING,
    TAKEN,
    Candidate,
    Cell,
    OperatorEntry,
)
from dispatchviz.core.table.precedence import (
    AMBIGUOUS,
    AUTOGRAD,
    BATCHED,
    DEFAULT_BACKEND,
    FALLBACK,
    KERNEL,
    MATH,
    MISSING,
    NESTED,
)
from dispatchviz.explain.cells.pytorch_tables import served
from dispatchviz.explain.keys.key_order import ALIAS_TEXTS
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import AliasKeys, CellHolds
from dispatchviz.foundation.english import counted, listed

K = DispatchKey

TAGS = {
    KERNEL: "registered for this key itself, which nothing outranks",
    DEFAULT_BACKEND: "from an alias that serves every backend without a kernel of its own",
    NESTED: "from the alias of composites written for nested tensors",
    MATH: "a composite, written in terms of other operators, which have their own derivatives",
    AUTOGRAD: "from the alias Autograd, which covers the autograd keys of all backends",
    BATCHED: "from the alias for operators that vmap may decompose",
    FALLBACK: "the key's own fallback, for every operator without a kernel of its own there",
    AMBIGUOUS: "two kernels that exclude each other, so a call fails",
    MISSING: "nothing fills the entry, so a call fails",
}
"""The meaning of each of PyTorch's tags."""


def because(op: OperatorEntry, cell: Cell) -> Statement:
    """The reason why this kernel fills the entry, in a few sentences."""
    key, source = cell.key, cell.source
    if cell.kernel is None or source is None:
        return Statement(
            "cell: why empty",
            f"The dispatch table entry is empty, because nothing is registered for {key}, no alias that covers it has "
            f"a kernel of this operator, and {key} has no fallback.",
            _holds(cell),
        )
    if cell.reason == KERNEL:
        text = (
            f"{cell.kernel.name} is registered for {key} itself. A key's own kernel takes precedence over all others."
        )
        return Statement("cell: own kernel", text, _holds(cell))
    if cell.reason == FALLBACK:
        return Statement(
            "cell: key's fallback",
            f"This operator registers nothing that covers {key}, so its dispatch table entry holds the fallback of "
            f"{key}, {cell.kernel.name}. The fallback serves all operators of this kind.",
            _holds(cell),
        )
    if cell.reason == AMBIGUOUS:
        return _ambiguous(op, cell)
    return _covered(op, cell, source)


def _holds(cell: Cell) -> tuple[CellHolds, ...]:
    name = cell.kernel.name if cell.kernel else ""
    return (CellHolds(cell.operator.name, str(cell.key), name, cell.reason),)


def nothing_itself(key: str) -> str:
    """The sentence on a key without a kernel of its own."""
    if key == K.Undefined.name:
        return (
            "Calls without any key use the dispatch table entry of Undefined, and no kernel can be registered for it."
        )
    return f"Nothing is registered for {key} itself."


def _covered(op: OperatorEntry, cell: Cell, source: DispatchKey) -> Statement:
    """The way in which an alias fills the entry, and the number of its other entries."""
    key, many = cell.key, len(ALIAS_MEMBERS[source])
    filled = sum(cell in ALIAS_MEMBERS[source] for cell in served(op, source))
    covers = f"The alias {source} covers {counted(many, 'key')}: {ALIAS_TEXTS[source]}."
    here = (
        ", including this one"
        if key in ALIAS_MEMBERS[source]
        else (". Undefined is not one of them but gets the kernel too")
    )
    other = many - filled
    others = f" ({'one has' if other == 1 else f'{other} have'} a kernel of higher precedence)" if other else ""
    cells = "all their entries" if filled == many else f"{filled} of their entries{others}"
    return Statement(
        "cell: filled by an alias",
        f"{nothing_itself(key.name)} {covers} The alias is resolved when kernels are registered, not when the operator "
        f"is called: its kernel fills {cells}{here}. A call only reads the entry.",
        (*_holds(cell), AliasKeys(str(source), tuple(map(str, sorted(ALIAS_MEMBERS[source]))))),
    )


def _ambiguous(op: OperatorEntry, cell: Cell) -> Statement:
    names = [str(key) for key in members(BACKENDS_OF_AUTOGRAD[K.AutogradOther]) if key in op.registrations]
    return Statement(
        "cell: why ambiguous",
        f"The operator has a composite kernel and kernels of its own for {listed(names)}. AutogradOther serves all "
        "these backends at once, so PyTorch cannot decide whether to run the composite (whose derivative comes from "
        "its parts) or the backend's kernel (which has none). It puts a kernel there that only raises an error.",
        _holds(cell),
    )


def outcome(op: OperatorEntry, cell: Cell, candidate: Candidate) -> str:
    """The outcome of a candidate, as a short sentence without its full stop."""
    source = candidate.source
    if candidate.outcome == TAKEN:
        return "taken"
    if candidate.outcome == NOTHING:
        return "nothing registered" if candidate.reason != FALLBACK else f"{cell.key} has no fallback"
    if candidate.outcome == NOT_CONSIDERED:
        return (
            "nothing registered"
            if candidate.kernel is None
            else "has a kernel, but with lower precedence than the chosen one"
        )
    if candidate.outcome.startswith(NOT_COVERED):
        return f"has a kernel, but does not cover {cell.key}" + _beside(source, cell.key)
    return f"has a kernel, but {candidate.outcome}"


def _beside(source: DispatchKey, key: DispatchKey) -> str:
    """The related keys that the alias covers instead, if a reader is likely to confuse them."""
    if source == K.Autograd and not key.name.startswith("Autograd"):
        return ", only for autograd keys"
    if source in (K.CompositeExplicitAutograd, K.CompositeExplicitAutogradNonFunctional):
        if key.name.startswith("Autograd"):
            return ", only for backends"
        if key.functionality == K.Sparse:
            return ": it does not cover sparse layouts"
    return ""

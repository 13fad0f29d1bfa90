"""Registrations: operators, kernels, and the dispatch table entries that change."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.own_numbers import own_keys
from dispatchviz.explain.kinds.kind import Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    DISPATCHER,
    ENTRY,
)
from dispatchviz.explain.sentences.sentence_claims import SchemaOf
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import FilledCells
from dispatchviz.foundation.english import counted, listed

_REGISTERING = "from the registrations before and after a call of torch.library"


def _defined(trace: Trace, event: ev.OperatorDefined) -> Statement:
    """Explain the entries of a new table: the keys' fallbacks, and kernels that were registered before the
    definition.
    """
    new = f"{event.operator} is a new operator: {event.schema}."
    if event.by_fallbacks < 0:  # a trace of an older version
        return Statement("operator defined, cells unknown", new, (SchemaOf(event.operator, event.schema),))
    filled, cells = event.by_fallbacks + event.by_kernels, len(own_keys(trace.header))
    claims = (SchemaOf(event.operator, event.schema), FilledCells(event.operator, filled))
    hold = (
        f"{event.by_fallbacks} of the {cells} entries of its dispatch table hold the keys' fallbacks, which serve all "
        "operators"
    )
    if event.by_kernels:
        kernels = "holds a kernel that was" if event.by_kernels == 1 else "hold kernels that were"
        before = f"and {event.by_kernels} {kernels} registered before the definition"
        return Statement("operator defined after kernels", f"{new} {hold}, {before}.", claims)
    text = f"{new} It has no kernel yet: {hold}, and the other {cells - filled} are empty."
    return Statement("operator defined", text, claims)


def _registered_label(trace: Trace, event: ev.KernelRegistered) -> str:
    verb = "removed" if event.removed else "impl" if event.operator else "fallback"
    return f"{verb} {event.operator or 'all operators'} {event.key}: {event.kernel}"


def _recomputed_label(trace: Trace, event: ev.CellsRecomputed) -> str:
    cells = "1 cell" if len(event.cells) == 1 else f"{len(event.cells)} cells"
    return f"{cells} of {event.operator} changed"


def _why_kernel_registered(trace: Trace, event: ev.KernelRegistered) -> Statement:
    role = (
        f"the kernel of {event.operator} for {event.key}"
        if event.operator
        else f"the fallback of {event.key}, for every operator without a kernel of its own there"
    )
    if event.removed:
        return Statement("kernel removed", f"{event.kernel} is deregistered as {role}.")
    return Statement("kernel registered", f"{event.kernel} is registered as {role}.")


def _kernel_registered_rule(event: ev.KernelRegistered) -> Rule:
    if not event.operator:
        text = "A key has one fallback for all operators. Registering a second one is an error."
        return Rule(text, "c10::Dispatcher::registerFallback", DISPATCHER)
    text = "The newest kernel of a key is the active one. The older ones are kept behind it."
    return Rule(text, "c10::Dispatcher::registerImpl", DISPATCHER)


def _why_cells_recomputed(trace: Trace, event: ev.CellsRecomputed) -> Statement:
    some = f"{listed(list(event.cells[:8]))}{' and more' if len(event.cells) > 8 else ''}"
    text = (
        f"This changes {counted(len(event.cells), 'dispatch table entry', 'dispatch table entries')} of "
        f"{event.operator}: {some}."
    )
    return Statement("cells change", text)


REGISTRATION_KINDS = (
    Kind(
        ev.OperatorDefined,
        group="registration",
        label=lambda trace, event: f"def {event.operator}",
        why=_defined,
        rule=Rule(
            "An operator is defined once, by its schema. Its kernels may be registered before or after that.",
            "c10::Dispatcher::registerDef",
            DISPATCHER,
        ),
        known=Known("derived", _REGISTERING),
        level="calls",
    )
    | Kind(
        ev.KernelRegistered,
        group="registration",
        label=_registered_label,
        why=_why_kernel_registered,
        rule=_kernel_registered_rule,
        known=Known("derived", _REGISTERING),
        level="calls",
    )
    | Kind(
        ev.CellsRecomputed,
        group="registration",
        label=_recomputed_label,
        why=_why_cells_recomputed,
        rule=Rule(
            "A registration recomputes the entries of its key or alias. For a backend key, it also recomputes the "
            "entry of the backend's autograd key.",
            "c10::impl::OperatorEntry::updateDispatchTable_",
            ENTRY,
        ),
        known=unseen("PyTorch does not report which entries it recomputes"),
    )
)

"""Whether the model or an installed PyTorch was recorded, and which kinds of events the latter cannot have."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header
from dispatchviz.core.table.pytorch_registrations import chosen_build

Unseen = (
    ev.ExecInfoPopulated
    | ev.FormulaSkipped
    | ev.FunctionEntered
    | ev.GradModeChanged
    | ev.MetaEntered
    | ev.NodeDeleted
    | ev.NodeFinished
    | ev.NodeQueued
    | ev.RequiresGradSet
    | ev.StackStored
    | ev.VariableNotSaved
    | ev.VersionBumped
)
"""Kinds that a recording of an installed PyTorch cannot have, as far as somebody asks; their records say the same."""

UNSEEN_RUNNING: tuple[ev.HookKind, ...] = ("retains-grad hook",)
"""Kinds of hooks of which a recording of an installed PyTorch is not told when they run."""


def is_live(header: Header) -> bool:
    """Return whether an installed PyTorch was recorded, and not the model."""
    return header.engine != "model"


def is_unseen(header: Header, kind: type[Unseen]) -> bool:
    """Return whether a recording cannot have events of a kind: that there are none says nothing then."""
    return is_live(header)


def build_of(header: Header) -> str:
    """Of the two builds whose registrations are known, that of a trace."""
    if is_live(header):
        return "cpu" if ", CPU build" in header.build else "cuda"
    return chosen_build()


def engine_text(header: Header) -> str:
    """On what: ``the model of PyTorch 2.13.0, cuda: CuPy``, ``PyTorch 2.13.0+cpu (installed, observed), cuda:
    none (CPU build)``."""
    if is_live(header):
        return f"PyTorch {header.pytorch} (installed, observed), cuda: {header.cuda}"
    return f"the model of PyTorch {header.pytorch}, cuda: {header.cuda}"

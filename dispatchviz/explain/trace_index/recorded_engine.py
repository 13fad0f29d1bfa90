"""The engine of a recording (the model or an installed PyTorch), and the kinds of events that the latter cannot
have.
"""

from __future__ import annotations

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header
from dispatchviz.core.table.pytorch_registrations import chosen_build

Unseen = (
    ev.ExecInfoPopulated
    | ev.FormulaSkipped
    | ev.FunctionEntered
    | ev.MetaEntered
    | ev.NodeDeleted
    | ev.NodeFinished
    | ev.NodeQueued
    | ev.RequiresGradSet
    | ev.StackStored
    | ev.VariableNotSaved
    | ev.VariablesReleased
    | ev.VersionBumped
)
"""The kinds of events that a recording of an installed PyTorch cannot have, as far as they are queried. Their records
state the same.
"""

UNSEEN_RUNNING: tuple[ev.HookKind, ...] = ("retains-grad hook",)
"""The kinds of hooks whose runs a recording of an installed PyTorch cannot have."""


def is_live(header: Header) -> bool:
    """Return whether the recording is of an installed PyTorch and not of the model."""
    return header.engine != "model"


def is_unseen(header: Header, kind: type[Unseen]) -> bool:
    """Return whether a recording cannot have events of a kind, so that their absence means nothing."""
    return is_live(header)


def build_of(header: Header) -> str:
    """Return the build of a trace, one of the two builds whose registrations are known."""
    if is_live(header):
        return "cpu" if ", CPU build" in header.build else "cuda"
    return chosen_build()


def why_chosen(header: Header) -> str:
    """Return why ``--engine auto`` chose the engine of a trace; empty if it needs no reason."""
    return header.chosen if isinstance(header.chosen, str) else ""


def engine_name(header: Header) -> str:
    """Return the engine of a trace without its ``cuda``: ``PyTorch 2.14.1+cpu (installed, observed)``."""
    return (
        f"PyTorch {header.pytorch} (installed, observed)"
        if is_live(header)
        else f"the model of PyTorch {header.pytorch}"
    )


def recorded_release(header: Header) -> str:
    """Return the release of a recording of another PyTorch than the one that dispatchviz describes: ``2.14.1``. The
    result is empty for the model and for PyTorch 2.14.
    """
    return "" if isinstance(header.tables, msgspec.UnsetType) else header.pytorch.partition("+")[0]


def engine_text(header: Header) -> str:
    """Return the engine of a trace: ``the model of PyTorch 2.14.1, cuda: CuPy``, ``PyTorch 2.14.1+cpu (installed,
    observed), cuda: none (CPU build)``.
    """
    return f"{engine_name(header)}, cuda: {header.cuda}"

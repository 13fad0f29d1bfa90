"""The thread's state: guards, grad mode, inference mode."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_reasons import guard_reason
from dispatchviz.explain.keys.key_text import BACKENDS, is_autograd, keys_text
from dispatchviz.explain.kinds.kind import SWITCHES, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    LAYERS,
)
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import around, key_of_kernel
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import capital, listed

_LOCAL = "c10/core/impl/LocalDispatchKeySet.h"


_SETS = "from the key sets of the outer kernel and of this one"

GUARD_FILES = {
    "AutoDispatchBelowAutograd": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "AutoDispatchBelowADInplaceOrView": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "AutoDispatchSkipFunctionalize": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "IncludeDispatchKeyGuard": _LOCAL,
    "ExcludeDispatchKeyGuard": _LOCAL,
    "ForceDispatchKeyGuard": _LOCAL,
    "InferenceMode": "c10/core/InferenceMode.h",
    "SaveLocalDispatchKeySet": LAYERS,
    "StashTorchDispatchModeGuard": "torch/csrc/utils/torch_dispatch_mode.h",
    "StashTorchDispatchStackGuard": "torch/csrc/utils/torch_dispatch_mode.h",
}


_MODE = "torch/utils/_python_dispatch.py"
"""The file of the modes that programs enter, which are also guards."""


def _inference_mode(event: ev.InferenceModeChanged) -> Statement:
    if not event.enabled:
        return Statement("inference mode off", "Inference mode is off, so the autograd keys are no longer excluded.")
    text = (
        "Inference mode is on, so calls skip the autograd kernels. Under no_grad these kernels would still run, but "
        "record no Nodes."
    )
    return Statement("inference mode on", text)


def _entered(trace: Trace, event: ev.GuardEntered) -> Statement:
    changes = _changes(event)
    if not changes:
        return Statement("idle guard", f"The guard {event.guard} changes nothing, because its keys are already set.")
    because = f"{guard_reason(trace, event)}{_after(trace, event)}"
    return Statement("guard", f"The guard {event.guard} {listed(changes)} until it ends, because {because}.")


def _changes(event: ev.GuardEntered) -> list[str]:
    def moved(now: int, before: int) -> int:
        return now & ~before & ~BACKENDS

    return [
        f"{verb} {keys_text(keys)} {place} set"
        for verb, keys, place in (
            ("adds", moved(event.excluded, event.excluded_before), "to the thread-local exclude"),
            ("removes", moved(event.excluded_before, event.excluded), "from the thread-local exclude"),
            ("adds", moved(event.included, event.included_before), "to the thread-local include"),
            ("removes", moved(event.included_before, event.included), "from the thread-local include"),
        )
        if keys
    ]


def _after(trace: Trace, event: ev.GuardEntered) -> str:
    """The purpose of a guard around a redispatch."""
    kernel = around(trace, event.seq, ev.KernelEntered)
    if kernel is None or event.parent != kernel.seq:
        return ""
    key = key_of_kernel(trace, kernel)
    if is_autograd(key) or key == "ADInplaceOrView":
        return ", so calls that the kernels below make are not recorded again"
    return ""


def _left(trace: Trace, event: ev.GuardLeft) -> Statement:
    entered = trace[event.parent] if event.parent is not None else None
    gone = entered.excluded & ~event.excluded if isinstance(entered, ev.GuardEntered) else 0
    back = ", so calls can reach autograd again" if gone & autograd_dispatch_keyset else ""
    return Statement("guard ended", f"The guard {event.guard} ends and restores the thread-local sets{back}.")


def _grad_mode(trace: Trace, event: ev.GradModeChanged) -> Statement:
    if event.why == "inference mode":
        return Statement("grad mode off by inference mode", "Inference mode switches grad mode off as well.")
    if not event.why:
        return _seen_at_call(event)
    how = (
        f"{_switch(event.why)} {'switches grad mode back' if event.why.startswith('leaving') else 'switches grad mode'}"
    )
    if event.enabled:
        return Statement("grad mode on", f"{how} on, so operators record Nodes again.")
    if latest(index(trace).inference, event.seq):
        return Statement("grad mode off in inference mode", f"{how} off, because inference mode is still on.")
    text = f"{how} off. The autograd kernels still run, but they record no Nodes until it is on again."
    return Statement("grad mode off", text)


def _seen_at_call(event: ev.GradModeChanged) -> Statement:
    if event.enabled:
        return Statement("grad mode on at a call", "Grad mode is on again at this call, so operators record Nodes.")
    text = (
        "Grad mode is off at this call. The autograd kernels still run, but they record no Nodes until it is on again."
    )
    return Statement("grad mode off at a call", text)


def _switch(why: str) -> str:
    if why.startswith("backward"):
        return f"The backward pass{why.removeprefix('backward')}"
    return "inference_mode(False)" if why == "inference mode off" else capital(why)


GUARD_KINDS = (
    Kind(
        ev.GuardEntered,
        group="thread",
        label=lambda trace, event: f"guard {event.guard}",
        why=_entered,
        rule=lambda event: Rule(
            "A guard saves the thread-local include and exclude sets, then changes them. A key in both sets is "
            "excluded.",
            event.guard,
            GUARD_FILES.get(event.guard, _MODE),
        ),
        known=Known("derived", _SETS),
        level="keys",
        panes=("thread state", "source"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.GuardLeft,
        group="thread",
        label=lambda trace, event: f"guard {event.guard} ends",
        why=_left,
        rule=lambda event: Rule(
            "A guard that ends restores the sets that it saved, even if other code changed them in between.",
            event.guard,
            GUARD_FILES.get(event.guard, _MODE),
        ),
        known=Known("derived", _SETS),
        panes=("thread state", "source"),
    )
    | Kind(
        ev.GradModeChanged,
        group="thread",
        label=lambda trace, event: (
            f"grad mode {'on' if event.enabled else 'off'}{f' ({event.why})' if event.why else ''}"
        ),
        why=_grad_mode,
        rule=Rule(
            "Grad mode is a thread-local flag that autograd kernels check. It changes no dispatch key.",
            "c10::GradMode::set_enabled",
            "c10/core/GradMode.h",
        ),
        known=Known("observed", "at the first call of an operator after the switch"),
        level="calls",
        panes=("thread state", "source"),
    )
    | Kind(
        ev.InferenceModeChanged,
        group="thread",
        label=lambda trace, event: f"inference mode {'on' if event.enabled else 'off'}",
        why=lambda trace, event: _inference_mode(event),
        rule=Rule(
            "Inference mode adds the autograd keys to the thread-local exclude set and removes ADInplaceOrView from "
            "the include set.",
            "c10::InferenceMode",
            "c10/core/InferenceMode.h",
        ),
        known=unseen(SWITCHES),
        level="calls",
        panes=("thread state", "source"),
    )
)

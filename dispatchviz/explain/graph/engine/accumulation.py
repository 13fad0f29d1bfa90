"""The effect of a gradient at a leaf (stolen, copied or added), and the conditions that ``AccumulateGrad`` checks.

Mirrors ``accumulateGrad`` of ``torch/csrc/autograd/functions/accumulate_grad.h``, term by term in the same order, with
its case numbers. The cases of sparse, nested and mkldnn tensors (1.2, 1.3, 1.4, 2.1, 3.1) and of vmap (2.2) do not
occur.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dispatchviz.core.autograd.graph import accumulation_reasons
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.tensor.tensor import is_non_overlapping_and_dense
from dispatchviz.explain.graph.engine.buffer_conditions import Condition, until_decided
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.tensor_card import strides_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import shaped

ACCUMULATE_GRAD = "torch/csrc/autograd/functions/accumulate_grad.h"

CASES: dict[ev.AccumulationMethod, tuple[str, str]] = {
    "stolen": ("1.1", ".grad becomes the gradient itself, detached: no copy"),
    "copied": ("1.5", ".grad becomes a copy with the strides of the layout contract"),
    "added in place": ("2.3", ".grad += gradient: .grad remains the same tensor"),
    "added out of place": ("3.2", ".grad = .grad + gradient: a new tensor, with a history if it needs one"),
}
"""The number of the case in PyTorch's file, and its effect."""


class Accumulation(Struct, frozen=True):
    """A write of ``.grad``."""

    event: ev.GradientAccumulated
    case: str
    effect: str
    conditions: tuple[Condition, ...]


def accumulation(trace: Trace, event: ev.GradientAccumulated) -> Accumulation:
    """Return the conditions of an accumulation, including the one that decided."""
    terms = _first(trace, event) if event.how in ("stolen", "copied") else _later(event)
    return Accumulation(event, *CASES[event.how], tuple(terms))


def _first(trace: Trace, event: ev.GradientAccumulated) -> Iterator[Condition]:
    """Yield the conditions of case 1, where ``.grad`` does not exist yet."""
    leaf, new = tensor_name(trace, event.tensor, event.seq - 1), f"t{event.gradient}"
    yield Condition("!variable_grad.defined()", f"{leaf} has no .grad yet", True)
    stolen, why = event.how == "stolen", _reason(event)
    shared, allowed = why == accumulation_reasons.SHARED, _expected(trace, event)
    layout = stolen or why in (accumulation_reasons.GRAD_MODE, accumulation_reasons.SHARED)
    yield from until_decided(
        [
            Condition("!GradMode::is_enabled()", "grad mode is off", why != accumulation_reasons.GRAD_MODE),
            Condition("!new_grad.is_sparse()", "always true: the model has no such tensors", True),
            Condition("is_tensor_stealable(new_grad)", f"nothing else holds {new}: use_count {allowed}", not shared),
            Condition("obeys_layout_contract(new_grad)", _strides(trace, event), layout),
        ]
    )


def _reason(event: ev.GradientAccumulated) -> str:
    return accumulation_reasons.OLD_REASONS.get(event.why, event.why)


def _later(event: ev.GradientAccumulated) -> Iterator[Condition]:
    """Yield the conditions of cases 2 and 3, where ``.grad`` exists."""
    off = event.how == "added in place"
    yield Condition("variable_grad.defined()", ".grad exists", True)
    terms = [
        Condition("!GradMode::is_enabled()", "grad mode is off", off),
        Condition("!variable_grad.is_sparse()", "always true: the model has no such tensors", True),
        Condition(
            "inplaceIsVmapCompatible", "always true: a batched gradient is never added to one that is not batched", True
        ),
    ]
    yield from until_decided(terms)


def _expected(trace: Trace, event: ev.GradientAccumulated) -> str:
    """Return ``num_expected_refs``. It is larger if the engine keeps the inputs for post hooks."""
    node = around(trace, event.seq, ev.NodeStarted)
    hooks = () if node is None else hooks_of(trace, node.node, None, event.seq)
    return "<= 2, one for the post hooks" if any(hook.kind == "post hook" for hook in hooks) else "<= 1"


def _strides(trace: Trace, event: ev.GradientAccumulated) -> str:
    """Return the strides that the layout contract requires, and those of the gradient."""
    if _reason(event) == accumulation_reasons.NOT_ENFORCED:
        return "not required: enforce_grad_layout_policy(False) was called"
    at = event.seq
    wanted, shape = strides_of(trace, event.tensor, at), index(trace).shape(event.tensor, at)
    came = strides_of(trace, event.gradient, at)
    if wanted is None or shape is None or came is None:
        return "the gradient has the strides that .grad must have"
    if is_non_overlapping_and_dense(shape, wanted):
        return f"strides {shaped(came)}; the leaf has {shaped(wanted)}"
    return f"strides {shaped(came)}: contiguous, because the leaf is not dense"

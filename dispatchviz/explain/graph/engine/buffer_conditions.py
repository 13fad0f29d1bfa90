"""Conditions that PyTorch's code tests: those of ``InputBuffer::add`` decide whether gradients are summed in place.

``accumulate`` and ``can_accumulate_inplace`` of ``torch/csrc/autograd/input_buffer.cpp``, term by term in their order.
One of them asks how many hold the tensor: of those the trace has the outcome alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.tensor.tensor import is_non_overlapping_and_dense
from dispatchviz.core.tensor.tensor_subclass_like import TENSOR_SUBCLASS_LIKE
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.tensor_card import key_set_of, strides_of
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import shaped

INPUT_BUFFER = "torch/csrc/autograd/input_buffer.cpp"

_GRAD_MODE: ev.BufferReason = "grad mode is on: the sum may need a history"
_HELD: ev.BufferReason = "somebody else holds the gradient that was there"
_SUBCLASS: ev.BufferReason = "a dispatch mode or a subclass of Tensor may want to see a sum that writes to nothing"
_ZERO: ev.BufferReason = "the gradient that was there is a zero tensor, which has no memory"
_OVERLAPS: ev.BufferReason = "elements of the gradient that was there share memory"


def buffer_conditions(trace: Trace, event: ev.GradientBuffered, old: int | None) -> list[Condition]:
    """Those of one sum, ``old`` being the tensor that was in the buffer; none for a first gradient."""
    return [] if event.how == "stored" else list(asked_until(_terms(trace, event, old)))


def _terms(trace: Trace, event: ev.GradientBuffered, old: int | None) -> Iterator[Condition]:
    """Whether each holds, as the reason of the event tells; that there are numbers beside it is for the reader."""
    why, here = event.why, event.seq
    name = "what was there" if old is None else tensor_name(trace, old, here)
    new = tensor_name(trace, event.tensor, here)
    yield Condition("!GradMode::is_enabled()", "grad mode is off: the sum needs no history", why != _GRAD_MODE)
    yield Condition("!old.is_sparse(), !old.is_nested()", "always true: the model has no such tensors", True)
    late = why == _SUBCLASS and not _is_seen(trace, old, here)
    yield Condition(
        "!isTensorSubclassLike(old)", f"{name} is not a subclass, and no mode is active", why != _SUBCLASS or late
    )
    yield Condition("!old._is_zerotensor()", f"{name} has memory", why != _ZERO)
    yield Condition("old.is_non_overlapping_and_dense()", f"{name}{_strides(trace, old, here)}", why != _OVERLAPS)
    yield Condition(
        "use_count() of old and of its storage is 1", f"only the buffer holds {name} and its memory", why != _HELD
    )
    yield Condition("!isTensorSubclassLike(new)", f"{new} is not a subclass", not late)


def _is_seen(trace: Trace, tensor: int | None, at: int) -> bool:
    """``isTensorSubclassLike``: a mode is on, or the keys say so."""
    keys = None if tensor is None else key_set_of(trace, tensor, at)
    return bool(thread_state(trace, at).modes) or keys is None or bool(keys & TENSOR_SUBCLASS_LIKE)


def _strides(trace: Trace, tensor: int | None, at: int) -> str:
    strides = None if tensor is None else strides_of(trace, tensor, at)
    shape = None if tensor is None else index(trace).shape(tensor, at)
    if strides is None or shape is None:
        return " is dense: no elements share memory"
    dense = "dense" if is_non_overlapping_and_dense(shape, strides) else "elements share memory"
    return f": shape {shaped(shape)}, strides {shaped(strides)}, {dense}"


@dataclass(frozen=True, slots=True)
class Condition:
    """One term of an ``if``."""

    asked: str
    """In PyTorch's terms: ``!GradMode::is_enabled()``."""
    means: str
    """In plain words, with what the trace knows of it."""
    holds: bool | None
    """None: it was not asked, since one before it had decided."""
    decides: bool = False
    """It is what made the difference."""


def asked_until(terms: Iterable[Condition]) -> Iterator[Condition]:
    """Terms that are joined by ``&&``: the first that does not hold decides, and none after it is asked."""
    decided = False
    for term in terms:
        if decided:
            yield replace(term, holds=None)
        else:
            decided = not term.holds
            yield replace(term, decides=decided)

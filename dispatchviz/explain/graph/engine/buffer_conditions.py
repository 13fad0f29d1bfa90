"""The conditions by which ``InputBuffer::add`` decides whether gradients are summed in place.

``accumulate`` and ``can_accumulate_inplace`` of ``torch/csrc/autograd/input_buffer.cpp``, term by term in their order.
One of them reads the number of references to the tensor, of which the trace has only the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

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
_HELD: ev.BufferReason = "the earlier gradient has another reference"
_SUBCLASS: ev.BufferReason = "a dispatch mode or a Tensor subclass is involved: the sum must not be in place"
_ZERO: ev.BufferReason = "the earlier gradient is a zero tensor, which has no memory"
_OVERLAPS: ev.BufferReason = "elements of the earlier gradient share memory"


def buffer_conditions(trace: Trace, event: ev.GradientBuffered, old: int | None) -> list[Condition]:
    """Return the conditions of a sum. ``old`` is the tensor that was in the buffer. A first gradient has no
    conditions.
    """
    return [] if event.how == "stored" else list(until_decided(_terms(trace, event, old)))


def _terms(trace: Trace, event: ev.GradientBuffered, old: int | None) -> Iterator[Condition]:
    """Yield whether each condition holds, according to the reason in the event. The values are only added for the
    reader.
    """
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
    """Return ``isTensorSubclassLike``: whether a mode is active or the keys include a subclass."""
    keys = None if tensor is None else key_set_of(trace, tensor, at)
    return bool(thread_state(trace, at).modes) or keys is None or bool(keys & TENSOR_SUBCLASS_LIKE)


def _strides(trace: Trace, tensor: int | None, at: int) -> str:
    strides = None if tensor is None else strides_of(trace, tensor, at)
    shape = None if tensor is None else index(trace).shape(tensor, at)
    if strides is None or shape is None:
        return " is dense: no elements share memory"
    dense = "dense" if is_non_overlapping_and_dense(shape, strides) else "elements share memory"
    return f": shape {shaped(shape)}, strides {shaped(strides)}, {dense}"


class Condition(Struct, frozen=True):
    """A term of an ``if``."""

    asked: str
    """The condition in PyTorch's terms: ``!GradMode::is_enabled()``."""
    means: str
    """The condition in plain words, with its values in the trace."""
    holds: bool | None
    """None if it was not evaluated, because an earlier condition had decided."""
    decides: bool = False
    """True if this condition decided."""


def until_decided(terms: Iterable[Condition]) -> Iterator[Condition]:
    """Yield terms joined by ``&&``. The first one that is false decides, and later ones are not evaluated."""
    decided = False
    for term in terms:
        if decided:
            yield replace(term, holds=None)
        else:
            decided = not term.holds
            yield replace(term, decides=decided)

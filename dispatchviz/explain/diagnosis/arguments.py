"""The arguments of the call that raised: their variables or parameters, sizes, dtypes and devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import BackendComponent, DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, has_returned
from dispatchviz.explain.diagnosis.modules import shown_module
from dispatchviz.explain.diagnosis.words import base_name, last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.tensor_card import tensor_card
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, ordinal, plain_dtype, shaped

NAMELESS = "a tensor"


class Argument(NamedTuple):
    """A tensor argument of the call."""

    parameter: str
    """The name in the schema: ``mat2``, ``tensors[1]``."""
    tensor: int
    name: str
    """``x``, ``net.2.weight``, ``the result of relu on line 4``."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    """``float32``"""
    device: str
    made: int
    """The step at which it appeared."""
    key_set: int = 0
    """Its key set when it was passed to the call; 0 if the recording does not have it."""

    @property
    def sized(self) -> str:
        """``x [2, 3]``"""
        return f"{self.name} {shaped(self.shape)}"


def is_batched(one: Argument) -> bool:
    """Return whether vmap made a tensor that represents one for each sample."""
    return DispatchKeySet.from_raw_repr(one.key_set).has(DispatchKey.FuncTorchBatched)


def failed_call(failure: Failure) -> ev.Dispatched | None:
    """Return the outermost call that raised, or None if the last call of the line had returned."""
    call = failure.call
    return None if call is None or has_returned(failure.trace, call) else call


def arguments(failure: Failure) -> tuple[Argument, ...]:
    """Return the tensors of the outermost call that raised, in order; none if no call did."""
    call = failed_call(failure)
    return () if call is None else of_call(failure.trace, call)


def of_call(trace: Trace, call: ev.Dispatched) -> tuple[Argument, ...]:
    """Return the tensor arguments of a call, without numbers that Python wrapped."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    given = () if computed is None else computed.arguments
    found = (argument(trace, tensor, call.seq, name, key_set) for name, tensor, key_set in given)
    known = [each for each in found if each is not None]
    return tuple(
        each if each.name != NAMELESS else each._replace(name=f"its {ordinal(at + 1)} argument")
        for at, each in enumerate(known)
    )


def argument(trace: Trace, tensor: int, at: int, parameter: str = "", key_set: int = 0) -> Argument | None:
    """Return a tensor as an argument, or None if the recording does not have it, or if it is a number that Python
    wrapped.
    """
    made, card = index(trace).tensors.get(tensor), tensor_card(trace, tensor, at)
    if made is None or card is None or made.wrapped_number:
        return None
    device = _device(key_set, card.device)
    name = last_name(trace, tensor, at)
    name = NAMELESS if name == f"t{tensor}" else name
    return Argument(
        parameter,
        tensor,
        name,
        card.shape,
        _stride(trace, made, at),
        plain_dtype(card.dtype),
        device,
        made.seq,
        key_set,
    )


def _device(key_set: int, recorded: str) -> str:
    """Return the recorded device, or that of another backend's key if the tensor has one: the setting of ``.data`` may
    not be recorded.
    """
    backends = [
        each.name.removesuffix("Bit").lower() for each in BackendComponent if each and key_set >> (each - 1) & 1
    ]
    return recorded if len(backends) != 1 or recorded.partition(":")[0] == backends[0] else backends[0]


def _stride(trace: Trace, made: ev.TensorCreated, at: int) -> tuple[int, ...]:
    steps = [step for step in index(trace).steps_about(made.tensor, ev.GeometryChanged)[-8:] if step <= at]
    changed = trace[steps[-1]] if steps else None
    return tuple(changed.stride if isinstance(changed, ev.GeometryChanged) else made.stride)


def named(found: Iterable[Argument], *parameters: str) -> Argument | None:
    """Return the argument with the first of some parameter names that exists."""
    by_name = {each.parameter: each for each in found}
    return next((by_name[name] for name in parameters if name in by_name), None)


def called(failure: Failure) -> str:
    """Return the call with its line: ``add on line 4 (c = a + b)``; ``fc (Linear) on line 9 (return self.fc(x))`` for
    the call of a module.
    """
    call, where = failed_call(failure), on_line(failure.trace, failure.raised)
    module = module_of(failure)
    what = module or (spelled(call) if call is not None else failure.exception)
    return f"{what} on {where}" if where else what


def spelled(call: ev.Dispatched) -> str:
    """Return the function's name in a program: ``cross_entropy`` for ``aten::cross_entropy_loss``, ``linalg.inv``."""
    name = base_name(call)
    for room in ("linalg_", "fft_", "special_"):
        if name.startswith(room):
            return f"{room[:-1]}.{name.removeprefix(room)}"
    return SPELLED.get(name, name)


SPELLED = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss", "is_nonzero": "bool"}
"""Operators whose Python functions have another name."""


def module_of(failure: Failure) -> str:
    """Return the module whose weight or bias is an argument of the call: ``fc (Linear)``; empty if there is none."""
    found, call = arguments(failure), failed_call(failure)
    if call is None or "loss" in call.operator or "entropy" in call.operator:
        return ""
    weight = named(found, "weight", "bias", "running_mean")
    return "" if weight is None else shown_module(failure.trace, weight.tensor, failure.raised)


def created(failure: Failure, one: Argument) -> str:
    """Return the line that created a tensor: ``line 3 (x = torch.ones(2, 3))``; empty if the recording does not have
    it.
    """
    return on_line(failure.trace, one.made)


def named_with_line(failure: Failure, one: Argument) -> str:
    """Return a tensor's name with its line: ``x (line 3)``."""
    where = on_line(failure.trace, one.made, text=False)
    return f"{one.name} ({where})" if where and where not in one.name else one.name


def list_of(found: Sequence[Argument], what: str = "sizes") -> str:
    """Return a list of facts: ``x has sizes [2, 3] and w has sizes [4, 5]``, or the same for dtypes and devices."""
    return listed([fact(each, what) for each in found])


def fact(one: Argument, what: str) -> str:
    """Return a fact: ``x has sizes [2, 3]``, ``x is float32``, ``x is on cpu``."""
    if what == "sizes":
        return f"{one.name} has sizes {shaped(one.shape)}" if one.shape else f"{one.name} has no dimension"
    return f"{one.name} is {one.dtype}" if what == "dtypes" else f"{one.name} is on {one.device}"


def reference(one: Argument, other: str) -> str:
    """Return the words for a tensor in a fix: its name, or ``other``, such as ``the input``, if it has no variable."""
    return other if one.name.startswith(("the ", "a ", "its ", "earlier ")) or "@" in one.name else one.name


def applied(one: Argument, other: str, method: str) -> str:
    """Return a method call in a fix: ``x.T``, or ``.T of the first factor`` for a tensor without a variable."""
    it = reference(one, other)
    return f"{it}{method}" if it == one.name else f"{method} of {it}"


def apposed(one: Argument) -> str:
    """Return the name for use after a noun: ``its input x`` or ``its input, the result of relu on line 4,``."""
    return f", {one.name}," if one.name.startswith(("the ", "a ", "its ")) else f" {one.name}"


def diagnosed(failure: Failure, cause: Statement, fixes: tuple[str, ...], found: Iterable[Argument] = ()) -> Diagnosis:
    """Return the diagnosis of an error. The creation of each argument and the error prove it."""
    proof = (*sorted({each.made for each in found}), failure.raised)
    return Diagnosis("error", failure.raised, (cause,), failure.message, fixes, proof)

"""The arguments of the call that raised: which is which variable or parameter, with sizes, dtype and device."""

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
    """A tensor that the call got."""

    parameter: str
    """As the schema has it: ``mat2``, ``tensors[1]``."""
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
    """Its key set as the call met it; 0 if the recording does not say."""

    @property
    def sized(self) -> str:
        """``x [2, 3]``"""
        return f"{self.name} {shaped(self.shape)}"


def is_batched(one: Argument) -> bool:
    """Return whether vmap made a tensor stand for one per sample."""
    return DispatchKeySet.from_raw_repr(one.key_set).has(DispatchKey.FuncTorchBatched)


def failed_call(failure: Failure) -> ev.Dispatched | None:
    """The outermost call that raised; None if the last call of the line had returned."""
    call = failure.call
    return None if call is None or has_returned(failure.trace, call) else call


def arguments(failure: Failure) -> tuple[Argument, ...]:
    """The tensors of the outermost call that raised, in order; none if no call did."""
    call = failed_call(failure)
    return () if call is None else of_call(failure.trace, call)


def of_call(trace: Trace, call: ev.Dispatched) -> tuple[Argument, ...]:
    """The tensors that a call got, without numbers that Python wrapped."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    given = () if computed is None else computed.arguments
    found = (argument(trace, tensor, call.seq, name, key_set) for name, tensor, key_set in given)
    known = [each for each in found if each is not None]
    return tuple(
        each if each.name != NAMELESS else each._replace(name=f"its {ordinal(at + 1)} argument")
        for at, each in enumerate(known)
    )


def argument(trace: Trace, tensor: int, at: int, parameter: str = "", key_set: int = 0) -> Argument | None:
    """A tensor as an argument; None if the recording does not know it, or if it is a number that Python wrapped."""
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
    """The recorded device, unless the tensor has another backend's key by now: ``.data`` may have been set unseen."""
    backends = [
        each.name.removesuffix("Bit").lower() for each in BackendComponent if each and key_set >> (each - 1) & 1
    ]
    return recorded if len(backends) != 1 or recorded.partition(":")[0] == backends[0] else backends[0]


def _stride(trace: Trace, made: ev.TensorCreated, at: int) -> tuple[int, ...]:
    steps = [step for step in index(trace).steps_about(made.tensor, ev.GeometryChanged)[-8:] if step <= at]
    changed = trace[steps[-1]] if steps else None
    return tuple(changed.stride if isinstance(changed, ev.GeometryChanged) else made.stride)


def named(found: Iterable[Argument], *parameters: str) -> Argument | None:
    """The argument that has the first of some names that there is."""
    by_name = {each.parameter: each for each in found}
    return next((by_name[name] for name in parameters if name in by_name), None)


def called(failure: Failure) -> str:
    """``add on line 4 (c = a + b)``; ``fc (Linear) on line 9 (return self.fc(x))`` for the call of a module."""
    call, where = failed_call(failure), on_line(failure.trace, failure.raised)
    module = module_of(failure)
    what = module or (spelled(call) if call is not None else failure.exception)
    return f"{what} on {where}" if where else what


def spelled(call: ev.Dispatched) -> str:
    """The function as a program writes it: ``cross_entropy`` of ``aten::cross_entropy_loss``, ``linalg.inv``."""
    name = base_name(call)
    for room in ("linalg_", "fft_", "special_"):
        if name.startswith(room):
            return f"{room[:-1]}.{name.removeprefix(room)}"
    return SPELLED.get(name, name)


SPELLED = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss", "is_nonzero": "bool"}
"""Operators whose Python functions are called otherwise."""


def module_of(failure: Failure) -> str:
    """The module whose weight or bias the call got as such: ``fc (Linear)``; empty if there is none."""
    found, call = arguments(failure), failed_call(failure)
    if call is None or "loss" in call.operator or "entropy" in call.operator:
        return ""
    weight = named(found, "weight", "bias", "running_mean")
    return "" if weight is None else shown_module(failure.trace, weight.tensor, failure.raised)


def created(failure: Failure, one: Argument) -> str:
    """``line 3 (x = torch.ones(2, 3))``, where a tensor was made; empty if the recording does not say."""
    return on_line(failure.trace, one.made)


def named_with_line(failure: Failure, one: Argument) -> str:
    """``x (line 3)``"""
    where = on_line(failure.trace, one.made, text=False)
    return f"{one.name} ({where})" if where and where not in one.name else one.name


def list_of(found: Sequence[Argument], what: str = "sizes") -> str:
    """``x has sizes [2, 3] and w has sizes [4, 5]``, or the same of dtypes and devices."""
    return listed([said(each, what) for each in found])


def said(one: Argument, what: str) -> str:
    """``x has sizes [2, 3]``, ``x is float32``, ``x is on cpu``"""
    if what == "sizes":
        return f"{one.name} has sizes {shaped(one.shape)}" if one.shape else f"{one.name} has no dimension"
    return f"{one.name} is {one.dtype}" if what == "dtypes" else f"{one.name} is on {one.device}"


def reference(one: Argument, other: str) -> str:
    """How a fix writes a tensor: its name; ``the input`` or whatever ``other`` says of one without a variable."""
    return other if one.name.startswith(("the ", "a ", "its ", "earlier ")) or "@" in one.name else one.name


def applied(one: Argument, other: str, method: str) -> str:
    """``x.T``; of a tensor without a variable ``.T of the first factor``."""
    it = reference(one, other)
    return f"{it}{method}" if it == one.name else f"{method} of {it}"


def apposed(one: Argument) -> str:
    """``its input x`` or ``its input, the result of relu on line 4,``: the name behind a noun."""
    return f", {one.name}," if one.name.startswith(("the ", "a ", "its ")) else f" {one.name}"


def told(failure: Failure, cause: Statement, fixes: tuple[str, ...], found: Iterable[Argument] = ()) -> Diagnosis:
    """The diagnosis of an error; where each argument was made and the error prove it."""
    proof = (*sorted({each.made for each in found}), failure.raised)
    return Diagnosis("error", failure.raised, (cause,), failure.message, fixes, proof)

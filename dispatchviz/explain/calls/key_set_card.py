"""The key-set card: how a call computes its key set, or how a kernel masks the set that it received, as rows of lit
keys.

The columns are the keys that take part, highest priority first, then the backend bits. Keys that only the exclude set
or the mask has are left out, because they change nothing. Rows follow the computation from top to bottom.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from dispatchviz.core.keys.key_set import highest_backend, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_reasons import exclusion_depends_on, reasons, undefined_keys
from dispatchviz.explain.calls.redispatch_masks import mask_of
from dispatchviz.explain.keys.key_text import (
    BACKENDS,
    backend_bit,
    backend_name,
    backends,
    functionalities,
    is_per_backend,
    purpose,
    runtime_name,
)
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, kernel_before, key_of_kernel, within

State = Literal["lit", "dark", "masked", "won"]
"""``lit``: the key is in this row's set. ``dark``: it is not. ``masked``: this row or a row above removes it. ``won``:
it is in the set and decides.
"""


class Column(Struct, frozen=True):
    """A key (functionality bit) or a backend bit."""

    name: str
    """``AutogradCUDA``; for a backend bit, ``CUDA bit``."""
    functionality: str
    """``AutogradFunctionality``: the name of the bit; for a backend bit, the name of the backend."""
    bit: int
    """The bit as a raw set."""
    backend: bool
    """True for a backend bit."""


class Row(Struct, frozen=True):
    """A set in the computation, with a state for each column."""

    title: str
    raw: int
    cells: tuple[State, ...]
    tensor: int | None = None
    """The tensor whose set it is, for an argument."""


class KeySetCard(Struct, frozen=True):
    """The view of a key set."""

    operator: str
    how: str
    """``call``, ``redispatch`` and so on."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    arguments: int
    """The number of rows, from the first, that are arguments."""
    winner: str
    """The key that selects the dispatch table entry."""
    reasons: tuple[tuple[str, str], ...]
    """The name of each key that takes part, and one sentence on why it is in the set or not."""

    def __hash__(self) -> int:
        """Hash the texts only, since cards with the same texts are nearly always the same."""
        return hash((self.operator, self.how, self.reasons))


def key_set_card(trace: Trace, seq: int) -> KeySetCard | None:
    """The card of the dispatch that step ``seq`` is or is within; None outside any dispatch."""
    call = at_or_around(trace, seq, ev.Dispatched)
    return None if call is None else _card(trace, call.seq)


NUMBERED = re.compile(r"\bt\d{1,7}\b")
"""The name of a tensor without a variable. Each iteration of a loop has others."""


@lru_cache(maxsize=4)
def card_depends_on(trace: Trace, seq: int) -> tuple[Hashable, tuple[str, ...]]:
    """The facts from which the card of a call is made, without numbers of steps, and the names of its arguments that
    are numbers.

    Calls with equal facts have the same card but for these names, which are of the same lengths. The facts take a small
    part of the time of a card.
    """
    call = trace[seq]
    assert isinstance(call, ev.Dispatched)
    computed, own = within(trace, seq, ev.KeySetComputed), (call.operator, call.how, call.key, call.key_set)
    if computed is None:
        kernel = kernel_before(trace, call)
        return (own, kernel and (kernel.kernel, kernel.key_set, key_of_kernel(trace, kernel))), ()
    parameters, tensors, key_sets = zip(*computed.arguments, strict=True) if computed.arguments else ((), (), ())
    sets = (key_sets, computed.included, computed.excluded, computed.mask, computed.effective, computed.generator)
    facts = own, parameters, tuple(map(tensors.index, tensors)), sets, exclusion_depends_on(trace, computed.seq)
    names = [tensor_name(trace, tensor, computed.seq) for tensor in tensors]
    numbers = () if NUMBERED.search(str(facts)) else tuple(dict.fromkeys(filter(NUMBERED.fullmatch, names)))
    return (facts, tuple(len(name) if name in numbers else name for name in names)), numbers


@lru_cache(maxsize=64)
def _card(trace: Trace, seq: int) -> KeySetCard | None:
    """The card at any step in a dispatch."""
    call = trace[seq]
    assert isinstance(call, ev.Dispatched)
    computed = within(trace, seq, ev.KeySetComputed)
    return _given(trace, call) if computed is None else _computed(trace, call, computed)


def _computed(trace: Trace, call: ev.Dispatched, computed: ev.KeySetComputed) -> KeySetCard:
    columns = _columns(computed.with_included | computed.effective)
    rows = [
        Row(_argument(trace, name, tensor, computed.seq), ks, _lit(columns, ks), tensor)
        for name, tensor, ks in computed.arguments
    ]
    if computed.generator:
        rows.append(Row("generator", computed.generator, _lit(columns, computed.generator)))
    if undefined := undefined_keys(computed):
        rows.append(Row("undefined tensor", undefined, _lit(columns, undefined)))
    united = computed.united | undefined
    lost = computed.with_included & ~computed.effective
    rows += [
        Row("united", united, _lit(columns, united)),
        Row("included", computed.included, _lit(columns, computed.included)),
        Row("excluded", computed.excluded, _taking(columns, computed.excluded & ~BACKENDS)),
        Row("mask", computed.mask, _mask(columns, computed.mask)),
        Row("effective", computed.effective, _lit(columns, computed.effective, lost)),
        _winner(columns, computed.effective, call.key),
    ]
    given = len(computed.arguments)
    return KeySetCard(call.operator, call.how, columns, tuple(rows), given, call.key, reasons(trace, call, computed))


def _given(trace: Trace, call: ev.Dispatched) -> KeySetCard:
    """The card of a redispatch: the set that the calling kernel received, its mask, and the rest."""
    kernel = kernel_before(trace, call)
    received = kernel.key_set if kernel else call.key_set
    columns = _columns(received | call.key_set)
    mask = mask_of(trace, call)
    rows = [Row(f"received by {kernel.kernel}", received, _lit(columns, received))] if kernel else []
    if mask is not None:
        rows.append(Row(f"& {mask.name}", mask.raw, _mask(columns, mask.raw)))
    rows.append(Row("passed on", call.key_set, _lit(columns, call.key_set, received & ~call.key_set)))
    rows.append(_winner(columns, call.key_set, call.key))
    said = tuple((column.name, _given_reason(trace, call, kernel, column)) for column in columns if not column.backend)
    return KeySetCard(call.operator, call.how, columns, tuple(rows), 0, call.key, said)


def _given_reason(trace: Trace, call: ev.Dispatched, kernel: ev.KernelEntered | None, column: Column) -> str:
    kept = bool(call.key_set & column.bit)
    if kernel is None:
        return "It is in the key set that was given."
    if kept and not kernel.key_set & column.bit:
        return f"{kernel.kernel} added this key, which {purpose(DispatchKey[column.functionality])}."
    if not kept:
        if column.name == key_of_kernel(trace, kernel):
            return f"{kernel.kernel} ran for this key and removes it, so that the redispatch reaches the keys below it."
        mask = mask_of(trace, call)
        by = f" by {mask.name}" if mask else ""
        return f"It is removed{by} together with the key whose kernel ran."
    return (
        "It is the highest key left, so it wins."
        if column.name == call.key
        else f"It is in the key set, but {call.key} is higher."
    )


def _argument(trace: Trace, parameter: str, tensor: int, at: int) -> str:
    name = tensor_name(trace, tensor, at)
    return name if name == parameter else f"{parameter} = {name}"


def _columns(ks: int) -> tuple[Column, ...]:
    keys = [Column(runtime_name(key, ks), key.name, raw(key), False) for key in functionalities(ks)]
    bits = [(backend_name(backend), backend_bit(backend)) for backend in backends(ks)]
    return (*keys, *(Column(f"{name} bit", name, bit, True) for name, bit in bits))


def _lit(columns: tuple[Column, ...], ks: int, lost: int = 0) -> tuple[State, ...]:
    return tuple("lit" if ks & column.bit else "masked" if lost & column.bit else "dark" for column in columns)


def _taking(columns: tuple[Column, ...], ks: int) -> tuple[State, ...]:
    return tuple("masked" if ks & column.bit else "dark" for column in columns)


def _mask(columns: tuple[Column, ...], ks: int) -> tuple[State, ...]:
    return tuple("lit" if ks & column.bit else "masked" for column in columns)


def _winner(columns: tuple[Column, ...], ks: int, key: str) -> Row:
    """The bits that name the winning key: its functionality and, if it is one per backend, the highest backend."""
    top = next(functionalities(ks), DispatchKey.Undefined)
    won = raw(top) | (backend_bit(highest_backend(ks)) if is_per_backend(top) else 0)
    return Row(key, won, tuple("won" if won & column.bit else "dark" for column in columns))

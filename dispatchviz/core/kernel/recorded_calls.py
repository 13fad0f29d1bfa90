"""Kernels with a recorder listening: what goes in is noted, the kernel runs, what comes out is noted.

The dispatcher runs these in a cell's stead while a recording goes on. Every event of a trace pays for what happens
here, so these functions are compiled from one text: with as many parameters as the operator has (``*args`` would cost
more than the notes), with the recorder's values as constants, and calls whose only tensors are one or two plain
parameters, most calls, name those outright. ``operator_entry.py`` forgets them when a recorder begins or ceases to
listen.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.kernel.boxing import Typed
    from dispatchviz.core.record.notes import Recorder
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry


def told_call(rec: Recorder, cell: Cell) -> Typed:
    """The kernel of a cell as ``call`` runs it: ``function(ks, *args)``."""
    op, alone = cell.operator, rec.state is not None
    before, note = _noted_call(op, alone)
    if rec.finds_callers:
        before = f"{_FIND}\n        {before}"
    return _maker(len(op.schema.arguments), before, note)(rec, cell)


_FIND = """\
if rec.found:
            rec.found = False
        elif id(getframe(2).f_code) not in kernels:
            rec.find_caller()"""
"""Before the note, for a recorder that finds callers."""


def told_redispatch(rec: Recorder, cell: Cell) -> Typed:
    """The kernel of a cell as ``redispatch`` runs it: ``function(ks, *args)``."""
    count = len(cell.operator.schema.arguments)
    return _maker(count, "pass", 'note(("redispatched_typed", cell, ks))')(rec, cell)


def _noted_call(op: OperatorEntry, alone: bool) -> tuple[str, str]:
    """What is read of the tensors before the note, and the note; ``alone``: there is one thread."""
    state = "state" if alone else "thread.state"
    head = f"cell, ks, {state}.included, {state}.excluded"
    match op.plain_tensors:
        case (a,):
            return _serials(a), f'note(("called_with_one", {head}, n{a}, a{a}._ks))'
        case (a, b):
            return _serials(a, b), f'note(("called_with_two", {head}, n{a}, a{a}._ks, n{b}, a{b}._ks))'
    return "pass", f'rec.called("call", cell, ks, [{_arguments(len(op.schema.arguments))}])'


def _serials(*positions: int) -> str:
    """Lines that give each tensor argument ``a0`` its serial number ``n0``."""
    read = ", ".join(f"n{i}" for i in positions) + " = " + ", ".join(f"a{i}._number" for i in positions)
    unmet = " or ".join(f"n{i} < first" for i in positions)
    meet = "; ".join(f"n{i} = rec.serial(a{i})" for i in positions)
    return f"{read}\n        if {unmet}: {meet}"


def _arguments(count: int) -> str:
    return ", ".join(f"a{i}" for i in range(count))


_TEXT = """
def make(rec, cell):
    function, note, first, state = cell.function, rec.note, rec.first_tensor, rec.state
    kernels = rec.kernels

    def told(ks, {arguments}):
        {before}
        {note}
        try:
            result = function(ks, {arguments})
        except BaseException as error:
            rec.call_failed(error)
            raise
        try:
            number = result._number
        except AttributeError:
            rec.returned(result)
            return result
        note(("returned_one", number if number >= first else rec.serial(result)))
        return result

    return told
"""


@functools.cache
def _maker(count: int, before: str, note: str) -> Callable[[Recorder, Cell], Typed]:
    """``make`` of the text, for a number of arguments."""
    space: dict[str, Any] = {"thread": thread, "getframe": sys._getframe}
    text = _TEXT.format(arguments=_arguments(count), before=before, note=note)
    exec(compile(text, __file__, "exec"), space)
    make: Callable[[Recorder, Cell], Typed] = space["make"]
    return make

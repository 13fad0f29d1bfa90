"""Kernels with a recorder listening: what goes in is noted, the kernel runs, what comes out is noted.

The dispatcher runs these in a cell's stead while a recording goes on. Every event of a trace pays for what happens
here, so these functions are compiled from one text with as many parameters as the operator has (``*args`` would cost
more than the notes), and calls whose only tensors are one or two plain parameters, most calls, name those outright.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core import recorder
from dispatchviz.core.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.boxing import Typed
    from dispatchviz.core.operator import Cell, OperatorEntry


def told_call(cell: Cell) -> Typed:
    """The kernel of a cell as ``call`` runs it: ``function(ks, *args)``."""
    return _maker(_count(cell.operator), *_noted_call(cell.operator))(cell, cell.function)


def told_redispatch(cell: Cell) -> Typed:
    """The kernel of a cell as ``redispatch`` runs it: ``function(ks, *args)``."""
    return _maker(_count(cell.operator), "", 'rec.note(("redispatched", "redispatch", cell, ks))')(cell, cell.function)


def _count(op: OperatorEntry) -> int:
    """How many arguments."""
    return len(op.schema.arguments)


def _noted_call(op: OperatorEntry) -> tuple[str, str]:
    """What is read of the tensors before the note, and the note."""
    head = "cell, ks, state.included, state.excluded"
    match op.plain_tensors:
        case (a,):
            return _serials(a), f'rec.note(("called_with_one", {head}, n{a}, a{a}._ks))'
        case (a, b):
            return _serials(a, b), f'rec.note(("called_with_two", {head}, n{a}, a{a}._ks, n{b}, a{b}._ks))'
    return "", f'rec.called("call", cell, ks, [{_arguments(_count(op))}])'


def _serials(*positions: int) -> str:
    """Lines that give each tensor argument ``a0`` its serial number ``n0``, and the thread's state."""
    read = ", ".join(f"n{i}" for i in positions) + " = " + ", ".join(f"a{i}._number" for i in positions)
    unmet = " or ".join(f"n{i} < first" for i in positions)
    meet = "; ".join(f"n{i} = rec.serial(a{i})" for i in positions)
    lines = "state, first = rec.state or thread.state, rec.first_tensor", read, f"if {unmet}: {meet}"
    return "\n        ".join(lines)


def _arguments(count: int) -> str:
    return ", ".join(f"a{i}" for i in range(count))


_TEXT = """
def make(cell, function):
    def told(ks, {arguments}):
        rec = recorder.active
        if rec is None:
            return function(ks, {arguments})
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
        rec.note(("returned_one", number if number >= rec.first_tensor else rec.serial(result)))
        return result

    return told
"""


@functools.cache
def _maker(count: int, before: str, note: str) -> Callable[[Cell, Typed], Typed]:
    """``make`` of the text, for a number of arguments."""
    space: dict[str, Any] = {"recorder": recorder, "thread": thread}
    text = _TEXT.format(arguments=_arguments(count), before=before or "pass", note=note)
    exec(compile(text, __file__, "exec"), space)
    make: Callable[[Cell, Typed], Typed] = space["make"]
    return make

"""Kernels with a recorder listening: what goes in is noted, the kernel runs, what comes out is noted.

The dispatcher calls these in a cell's stead while a recording runs (``Cell.told_call``). They are written for speed:
the notes are made here and not in methods of the recorder, and calls whose only tensors are one or two plain
parameters, most calls, do not loop over a schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core import recorder
from dispatchviz.core.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.boxing import Typed
    from dispatchviz.core.operator import Cell
    from dispatchviz.core.recorder import Recorder


def told_call(cell: Cell) -> Typed:
    """The kernel of a cell as ``call`` runs it: ``function(ks, *args)``."""
    positions = cell.operator.plain_tensors
    if len(positions) == 1:
        return _call_with_one(cell, *positions)
    return _call_with_two(cell, *positions) if len(positions) == 2 else _call(cell)


def _call(cell: Cell) -> Typed:
    function = cell.function

    def told(ks: int, *args: Any) -> Any:
        rec = recorder.active
        if rec is None:
            return function(ks, *args)
        rec.called("call", cell, ks, args)
        try:
            result = function(ks, *args)
        except BaseException as error:
            rec.call_failed(error)
            raise
        return _returned(rec, result)

    return told


def _call_with_one(cell: Cell, position: int) -> Typed:
    function = cell.function

    def told(ks: int, *args: Any) -> Any:
        rec = recorder.active
        if rec is None:
            return function(ks, *args)
        a, state = args[position], rec.state or thread.state
        first = a._number
        if first < rec.first_tensor:
            first = rec.serial(a)
        rec.note(("called_with_one", cell, ks, state.included, state.excluded, first, a._ks))
        try:
            result = function(ks, *args)
        except BaseException as error:
            rec.call_failed(error)
            raise
        return _returned(rec, result)

    return told


def _call_with_two(cell: Cell, position: int, other_position: int) -> Typed:
    function = cell.function

    def told(ks: int, *args: Any) -> Any:
        rec = recorder.active
        if rec is None:
            return function(ks, *args)
        a, b, state = args[position], args[other_position], rec.state or thread.state
        first, second = a._number, b._number
        if first < rec.first_tensor or second < rec.first_tensor:
            first, second = rec.serial(a), rec.serial(b)
        rec.note(("called_with_two", cell, ks, state.included, state.excluded, first, a._ks, second, b._ks))
        try:
            result = function(ks, *args)
        except BaseException as error:
            rec.call_failed(error)
            raise
        try:
            number = result._number
        except AttributeError:
            return _returned(rec, result)
        rec.note(("returned_one", number if number >= rec.first_tensor else rec.serial(result)))
        return result

    return told


def told_redispatch(cell: Cell) -> Typed:
    """The kernel of a cell as ``redispatch`` runs it: ``function(ks, *args)``."""
    function = cell.function

    def told(ks: int, *args: Any) -> Any:
        rec = recorder.active
        if rec is None:
            return function(ks, *args)
        rec.note(("redispatched", "redispatch", cell, ks))
        try:
            result = function(ks, *args)
        except BaseException as error:
            rec.call_failed(error)
            raise
        try:
            number = result._number
        except AttributeError:
            return _returned(rec, result)
        rec.note(("returned_one", number if number >= rec.first_tensor else rec.serial(result)))
        return result

    return told


def _returned(rec: Recorder, result: Any) -> Any:
    try:
        number = result._number
    except AttributeError:
        rec.returned(result)
    else:
        rec.note(("returned_one", number if number >= rec.first_tensor else rec.serial(result)))
    return result

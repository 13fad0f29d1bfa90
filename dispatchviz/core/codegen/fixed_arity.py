"""The generator of ``generated/guarded_calls.py`` and ``generated/recorded_calls.py``: functions that run the kernel of
a dispatch table entry.

Every operation passes through these functions, and ``*args`` costs more than their own work. So they are written out
for up to eight arguments and for the positions of tensors that operators have. ``core/kernel/guarded_redispatch.py``
and ``core/kernel/recorded_kernels.py`` choose among them and handle any other number: a kernel with more arguments
takes so long that the cost of ``*args`` cannot be measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.codegen.model import Specification
from dispatchviz.core.codegen.pages import Imports, page
from dispatchviz.core.schema.function_schema import FunctionSchema

_MIRRORS = "aten/src/ATen/core/dispatch/Dispatcher.h"
_IMPORTS: Imports = {
    "collections.abc": ["Callable"],
    "sys": ["_getframe"],
    "dispatchviz.core.thread.thread_state": ["thread"],
}
_TYPES: Imports = {
    "dispatchviz.core.thread.guards": ["ExcludeFixed"],
    "dispatchviz.core.record.machine_recorder": ["Recorder"],
    "dispatchviz.core.table.operator_entry": ["Cell"],
}
"""Imports for annotations."""


def guarded_calls(spec: Specification) -> str:
    """The text of the functions that redispatch within a guard."""
    arities = _arities(spec)
    table = _table("REDISPATCH_WITHIN", ((f"{n}", f"redispatch_within_of_{n}") for n in arities))
    what = "A redispatch within a guard, for each number of arguments."
    return page(what, _MIRRORS, _IMPORTS, [*(_filled(_GUARDED, n) for n in arities), table], _TYPES)


def recorded_calls(spec: Specification) -> str:
    """The text of the functions for calls and redispatches while a recorder listens."""
    what = "The replacements of kernels while a recorder listens, for each number of arguments."
    return page(what, _MIRRORS, _IMPORTS, _recorded_parts(spec), _TYPES)


def _recorded_parts(spec: Specification) -> Iterator[str]:
    arities, calls = _arities(spec), _calls(spec)
    for n, tensors in calls:
        alone = ", alone" if tensors else ""
        bound = f"{alone} = cell.function, rec.note, rec.first_tensor{', rec.state' if tensors else ''}"
        yield _filled(_CALL, n, name=_call_name(n, tensors), note=_note(n, tensors), bound=bound)
    yield _table("CALLS", ((f"({n}, {tensors})", _call_name(n, tensors)) for n, tensors in calls))
    for n in arities:
        yield _filled(_REDISPATCH, n)
    yield _table("REDISPATCHES", ((f"{n}", f"redispatch_of_{n}") for n in arities))
    for n in arities:
        yield _filled(_RECORDED_GUARDED, n)
    yield _table("REDISPATCHES_WITHIN", ((f"{n}", f"redispatch_within_of_{n}") for n in arities))


_MOST = 8
"""The largest number of arguments for which functions are written out."""


def _schemas(spec: Specification) -> list[FunctionSchema]:
    return [f.schema for f in spec.functions.values() if len(f.schema.arguments) <= _MOST]


def _arities(spec: Specification) -> list[int]:
    return sorted({len(schema.arguments) for schema in _schemas(spec)})


def _calls(spec: Specification) -> list[tuple[int, tuple[int, ...]]]:
    """Pairs of the number of arguments and the positions of one or two plain tensors; no positions if there are other
    tensors.
    """
    return sorted({(len(schema.arguments), _noted_tensors(schema)) for schema in _schemas(spec)})


def _noted_tensors(schema: FunctionSchema) -> tuple[int, ...]:
    return schema.plain_tensors if len(schema.plain_tensors) in (1, 2) else ()


def _call_name(count: int, tensors: tuple[int, ...]) -> str:
    return "_".join(["call_of", str(count), *(["tensors", *map(str, tensors)] if tensors else [])])


def _note(count: int, tensors: tuple[int, ...]) -> str:
    """The lines that record a call."""
    if not tensors:
        return f'rec.called("call", cell, ks, [{_names(count)}])'
    numbers = ", ".join(f"n{i}" for i in tensors)
    lines = [
        f"{numbers} = " + ", ".join(f"a{i}._number" for i in tensors),
        "if " + " or ".join(f"n{i} < first" for i in tensors) + ":",
        f"    {numbers} = " + ", ".join(f"rec.serial(a{i})" for i in tensors),
        "state = alone or thread.state",
        f'note(("called_with_{("one", "two")[len(tensors) - 1]}", cell, ks, state.included, state.excluded, '
        + ", ".join(f"n{i}, a{i}._ks" for i in tensors)
        + "))",
    ]
    return "\n        ".join(lines)


def _names(count: int) -> str:
    return ", ".join(f"a{i}" for i in range(count))


def _filled(text: str, count: int, **parts: str) -> str:
    """A template with the arguments filled in."""
    given = _names(count)
    parameters = ", ".join(f"a{i}: Any" for i in range(count))
    return text.format(
        n=count,
        parameters=parameters,
        more_parameters=f", {parameters}" if count else "",
        more_arguments=f", {given}" if count else "",
        **parts,
    )


def _table(name: str, rows: Iterable[tuple[str, str]]) -> str:
    inside = "".join(f"    {key}: {value},\n" for key, value in rows)
    return f"{name} = {{\n{inside}}}\n"


_GUARDED = """\
def redispatch_within_of_{n}(cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Callable[..., Any]:
    function, keys = cell.function, guard.keys

    def redispatch_within({parameters}) -> Any:
        state = thread.state
        excluded = state.excluded
        try:
            state.excluded = excluded | keys
            return function(ks{more_arguments})
        finally:
            state.excluded = excluded

    return redispatch_within
"""

_RETURNED = """\
        try:
            number = result._number
        except AttributeError:
            rec.returned(result)
            return result
        note(("returned_one", number if number >= first else rec.serial(result)))
        return result
"""

_CALL = (
    """\
def {name}(rec: Recorder, cell: Cell) -> Callable[..., Any]:
    function, note, first{bound}
    finds_callers, kernels = rec.finds_callers, rec.kernels

    def recorded(ks: int{more_parameters}) -> Any:
        if finds_callers:
            if rec.found:
                rec.found = False
            elif id(_getframe(2).f_code) not in kernels:
                rec.find_caller()
        {note}
        try:
            result = function(ks{more_arguments})
        except BaseException as error:
            rec.call_failed(error)
            raise
"""
    + _RETURNED
    + "\n    return recorded\n"
)

_REDISPATCH = (
    """\
def redispatch_of_{n}(rec: Recorder, cell: Cell) -> Callable[..., Any]:
    function, note, first = cell.function, rec.note, rec.first_tensor

    def recorded(ks: int{more_parameters}) -> Any:
        note(("redispatched_typed", cell, ks))
        try:
            result = function(ks{more_arguments})
        except BaseException as error:
            rec.call_failed(error)
            raise
"""
    + _RETURNED
    + "\n    return recorded\n"
)

_RECORDED_GUARDED = """\
def redispatch_within_of_{n}(rec: Recorder, cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Callable[..., Any]:
    function, keys, name, note = cell.function, guard.keys, guard.__name__, rec.note
    first, alone = rec.first_tensor, rec.state

    def redispatch_within({parameters}) -> Any:
        state = alone or thread.state
        excluded = state.excluded
        try:
            within = state.excluded = excluded | keys
            note(("redispatched_within", cell, ks, name, state.included, excluded, within))
            result = function(ks{more_arguments})
        except BaseException as error:
            state.excluded = excluded
            rec.call_failed(error)
            note(("guard_left", name, state.included, excluded))
            raise
        state.excluded = excluded
        try:
            number = result._number
        except AttributeError:
            rec.returned(result)
            note(("guard_left", name, state.included, excluded))
            return result
        number = number if number >= first else rec.serial(result)
        note(("returned_from_within", number, name, state.included, excluded))
        return result

    return redispatch_within
"""

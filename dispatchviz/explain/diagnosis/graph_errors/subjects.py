"""The tensor that a call of the program is about, read from the line that raised: ``y`` in ``print(y.numpy())``."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.iterations import iterations
from dispatchviz.explain.trace_index.enclosing_steps import source_lines
from dispatchviz.explain.trace_index.trace_index import index

LONGEST = 20
"""The largest number of lines of a statement."""


class Subject(NamedTuple):
    """An expression of the program, and its tensor."""

    text: str
    """``y``, ``h + 1``"""
    tensor: int | None
    """The tensor, or None if the recording does not identify it."""


def statement(failure: Failure) -> ast.stmt | None:
    """Return the statement that raised; for a block only its head."""
    line = failure.line
    lines = source_lines(failure.trace, line.file) if line is not None else ()
    if line is None or not 0 < line.line <= len(lines):
        return None
    for end in range(line.line, min(line.line + LONGEST, len(lines)) + 1):
        text = "\n".join((lines[line.line - 1].strip(), *lines[line.line : end]))
        for ending in ("", " pass", "\nexcept Exception: pass"):
            if (parsed := _parsed(text + ending)) is not None:
                return parsed
    return None


def _parsed(text: str) -> ast.stmt | None:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


def calls(failure: Failure, names: Collection[str]) -> Iterator[ast.Call]:
    """Yield the calls of functions and methods of some names in the statement that raised."""
    found = statement(failure)
    for node in ast.walk(found) if found is not None else ():
        if isinstance(node, ast.Call) and name_of(node.func) in names:
            yield node


def name_of(function: ast.expr) -> str:
    """Return the last name: ``numpy`` for ``y.numpy``, ``deepcopy`` for ``copy.deepcopy``."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def owner(failure: Failure, methods: Collection[str]) -> Subject | None:
    """Return the first tensor whose method a line calls."""
    return next(owners(failure, methods), None)


def owners(failure: Failure, methods: Collection[str]) -> Iterator[Subject]:
    """Yield the tensors whose methods a line calls."""
    for call in calls(failure, methods):
        if isinstance(call.func, ast.Attribute) and not ast.unparse(call.func.value).startswith("torch"):
            yield subject(failure, call.func.value)


def argument(failure: Failure, functions: Collection[str], position: int = 0, name: str = "") -> ast.expr | None:
    """Return the argument that a line passes to a function, by position or by name."""
    for call in calls(failure, functions):
        named = next((each.value for each in call.keywords if each.arg == name and name), None)
        if named is not None:
            return named
        if len(call.args) > position:
            return call.args[position]
    return None


def subject(failure: Failure, expression: ast.expr, before: int | None = None) -> Subject:
    """Return the tensor of an expression: that of a variable, or else the result of the last call of the line.

    ``before`` is the step up to which the line has been evaluated; by default all of it.
    """
    text = ast.unparse(expression)
    if isinstance(expression, ast.Name | ast.Attribute | ast.Subscript):
        held = held_by(failure, text)
        if held is not None or isinstance(expression, ast.Name):
            return Subject(text, held)
    return Subject(
        text, last_returned(failure, before) if isinstance(expression, ast.Call | ast.BinOp | ast.UnaryOp) else None
    )


def held_by(failure: Failure, path: str) -> int | None:
    """Return the tensor that a variable holds, or an attribute: ``self.h`` is ``model.h`` if only one variable has
    ``h``.
    """
    known, at = index(failure.trace), failure.raised
    found = known.holder(path, at)
    if found is not None or not path.startswith("self."):
        return next(
            (each for each in (found, _of_loop(failure, path), _passed(failure, path)) if each is not None), None
        )
    ending = path.removeprefix("self")
    names = [name for name in failure.trace.columns.name_texts if name.endswith(ending)]
    held = {known.holder(name, at) for name in names} - {None}
    return held.pop() if len(held) == 1 else None


def _of_loop(failure: Failure, variable: str) -> int | None:
    """Return the tensor of a loop's variable: ``params[1]`` in iteration 2 of ``for p in params:``."""
    trace, line = failure.trace, failure.line
    for loop in iterations(trace, line.seq) if line is not None else ():
        head = _parsed(source_lines(trace, loop.file)[loop.head - 1].strip() + " pass")
        if isinstance(head, ast.For) and ast.unparse(head.target) == variable:
            return index(trace).holder(f"{ast.unparse(head.iter)}[{loop.number - 1}]", failure.raised)
    return None


def _passed(failure: Failure, parameter: str) -> int | None:
    """Return the tensor of a function's parameter: the argument of the calling line."""
    line = failure.line
    caller = failure.trace[line.caller] if line is not None and line.caller is not None else None
    if line is None or not isinstance(caller, ev.SourceLine):
        return None
    name = line.function.rpartition(".")[2]
    position = _position(source_lines(failure.trace, line.file), name, line.line, parameter)
    outside = failure._replace(raised=caller.seq)
    passed = argument(outside, (name,), position, parameter) if position is not None else None
    return None if passed is None else subject(outside, passed, line.seq).tensor


def _position(lines: Sequence[str], function: str, line: int, parameter: str) -> int | None:
    """Return the position of a parameter of the function that is defined above a line, except for methods."""
    for number in range(line - 1, 0, -1):
        text = lines[number - 1].strip()
        if text.startswith(f"def {function}("):
            found = _parsed(f"{text} pass" if text.endswith(":") else text)
            names = [each.arg for each in found.args.args] if isinstance(found, ast.FunctionDef) else []
            return names.index(parameter) if parameter in names and names[:1] != ["self"] else None
    return None


def last_returned(failure: Failure, before: int | None = None) -> int | None:
    """Return the tensor that the last finished call on the line returned."""
    trace, line = failure.trace, failure.line
    returned = trace.steps_of(ev.KernelReturned)
    for step in reversed(returned if before is None else returned[: bisect_left(returned, before)]):
        event = trace[step]
        if line is None or step < line.seq:
            break
        if isinstance(event, ev.KernelReturned) and event.tensors:
            return event.tensors[-1]
    return None


def held_within(trace: Trace, name: str, at: int) -> list[tuple[str, int]]:
    """Return the tensors that a variable's value holds: names and tensors, ``state['norm']`` for ``state``."""
    known = index(trace)
    names = [each for each in trace.columns.name_texts if each.startswith((f"{name}.", f"{name}["))]
    held = ((each, known.holder(each, at)) for each in dict.fromkeys(names))
    return [(each, tensor) for each, tensor in held if tensor is not None]


def grouped(text: str) -> str:
    """Return an expression to which a method can be attached."""
    return text if text.replace("_", "").replace(".", "").isalnum() or text.endswith((")", "]")) else f"({text})"

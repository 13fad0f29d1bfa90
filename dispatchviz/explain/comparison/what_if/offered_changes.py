"""The changes that make sense at a step, according to its line, thread state, tensors and call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.what_if.changed_program import DEFINITIONS, WITHS, changed_program
from dispatchviz.explain.comparison.what_if.changes import TYPED, Change, device_of, for_device, read_change
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, source_line, user_stack
from dispatchviz.explain.trace_index.tensor_card import TensorCard, tensor_card
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.errors import DispatchvizError

MOST_TENSORS = 3
"""The number of tensors of a line for which changes are offered."""

LOOKED_AT = 200
"""The number of steps of a line that are searched for its first call."""


class Offered(NamedTuple):
    """A change, and the line of the program that it applies to."""

    change: Change
    text: str


def offered_changes(trace: Trace, at: int) -> list[Offered]:
    """Return the changes that can be tried at a step. Raise DispatchvizError if there is no line to change."""
    program = trace.header.program
    source, line = trace.header.sources.get(program), _own_line(trace, at)
    if source is None:
        raise DispatchvizError(f"the text of {program} is not in this trace")
    if line is None:
        raise DispatchvizError(f"no line of {program} runs at this step")
    try:
        parsed = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the parser raises the last one at its limits
        raise DispatchvizError(f"the text of {program} in this trace is not Python") from None
    lines = source.splitlines()
    found = dict.fromkeys(_changes(trace, at, line, parsed))
    return [Offered(each, lines[each.line - 1].strip()) for each in found if _can_be_made(source, each)]


def matching(trace: Trace, offered: Sequence[Offered], typed: str) -> tuple[list[Offered], str]:
    """Return the offered changes that contain all typed words. The typed change itself comes first, if it is one.

    Where there is neither, the text says why not.
    """
    if not typed.strip():
        return list(offered), ""
    words = typed.casefold().split()
    kept = [each for each in offered if all(word in f"{each.change.text} {each.text}".casefold() for word in words)]
    try:
        own = typed_change(trace, typed, offered[0].change.line)
    except DispatchvizError as error:
        return kept, "" if kept else str(error)
    return [own, *(each for each in kept if each.change != own.change)], ""


def typed_change(trace: Trace, typed: str, line: int) -> Offered:
    """Read a change in the form of ``--what-if``. A change without a line applies to ``line``. Raise DispatchvizError
    if it is not a change or cannot be applied.
    """
    change = read_change(typed if TYPED.fullmatch(typed.strip()) else f"{line}: {typed.strip()}")
    if change.what == "autocast":
        change = for_device(change, device_of(trace))
    source = trace.header.sources[trace.header.program]
    changed_program(ast.parse(source), [change])
    return Offered(change, source.splitlines()[change.line - 1].strip())


def not_offered(trace: Trace, at: int) -> str:
    """Return a note about a change that a reader may miss at a step: a guard that no line of the program holds. Empty
    elsewhere.
    """
    event = trace[at]
    if not isinstance(event, ev.GuardEntered | ev.GuardLeft) or around(trace, at, ev.Dispatched) is None:
        return ""
    return (
        f"{event.guard} cannot be removed: PyTorch holds this guard inside a call, and only lines of the program can "
        "be changed"
    )


def _own_line(trace: Trace, at: int) -> ev.SourceLine | None:
    """Return the line of the program's own file that a step comes from: the innermost one in its stack of lines."""
    found = [line for line in user_stack(trace, at) if line.file == trace.header.program]
    return found[-1] if found else None


def _can_be_made(source: str, change: Change) -> bool:
    try:
        changed_program(ast.parse(source), [change])
    except DispatchvizError:
        return False
    return True


def _changes(trace: Trace, at: int, line: ev.SourceLine, program: ast.Module) -> Iterator[Change]:
    yield from _modes(trace, line)
    yield from _guards(trace, line, program)
    yield from _tensors(trace, line, program)
    if (call := _call(trace, at, line)) is not None:
        yield Change(line.line, "fallthrough", (call.key, call.operator))
        yield Change(line.line, "register", (call.key, call.operator))
    yield Change(line.line, "skip")


# -- modes and guards -------------------------------------------------------------------------------------------------


def _modes(trace: Trace, line: ev.SourceLine) -> Iterator[Change]:
    """Yield the switches of grad mode, inference mode and autocast to their other setting."""
    state = thread_state(trace, line.seq)
    yield Change(line.line, "no_grad" if state.grad.on else "enable_grad")
    if not state.inference.on:
        yield Change(line.line, "inference_mode")
    device = _device(trace, line)
    if not any(each.on and each.device == device for each in state.autocast):
        yield Change(line.line, "autocast", (device,))


def _device(trace: Trace, line: ev.SourceLine) -> str:
    """Return the kind of device that the line's calls are on."""
    first = _first_call(trace, line.seq)
    return "cuda" if first is not None and "CUDA" in first.key else "cpu"


def _guards(trace: Trace, line: ev.SourceLine, program: ast.Module) -> Iterator[Change]:
    """Yield the removals of the line's guards: a ``with`` around it, a decorator of its function, a line that switched
    a mode.
    """
    for node in ast.walk(program):
        if isinstance(node, WITHS | DEFINITIONS) and node.body[0].lineno <= line.line <= (node.end_lineno or 0):
            if isinstance(node, WITHS):
                yield Change(node.lineno, "skip")
            else:
                yield from (Change(mark.lineno, "skip") for mark in node.decorator_list)
    state = thread_state(trace, line.seq)
    for switch, unusual in ((state.grad, not state.grad.on), (state.inference, state.inference.on)):
        set_on = source_line(trace, switch.seq) if unusual and switch.seq is not None else None
        if set_on is not None and set_on.file == trace.header.program and set_on.line != line.line:
            yield Change(set_on.line, "skip")


# -- tensors ----------------------------------------------------------------------------------------------------------


def _tensors(trace: Trace, line: ev.SourceLine, program: ast.Module) -> Iterator[Change]:
    """Yield changes of the tensors that the line names: requires_grad flipped, another device, another dtype."""
    for name, card in islice(_named(trace, line, program), MOST_TENSORS):
        if not card.grad_fn:  # the flag can be set only on leaves
            yield Change(line.line, "requires_grad", (name, "off") if card.requires_grad else (name,))
        yield Change(line.line, "device", ("cuda" if card.device.startswith("cpu") else "cpu", name))
        yield Change(line.line, "dtype", ("float64" if card.dtype.endswith("float32") else "float32", name))


def _named(trace: Trace, line: ev.SourceLine, program: ast.Module) -> Iterator[tuple[str, TensorCard]]:
    """Yield the names that the line reads and their tensors."""
    known, seen = index(trace), set[str]()
    for statement in ast.walk(program):
        if isinstance(statement, ast.stmt) and statement.lineno == line.line and not isinstance(statement, DEFINITIONS):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                    name = ast.unparse(node)
                    tensor = known.holder(name, line.seq) if name not in seen else None
                    card = tensor_card(trace, tensor, line.seq) if tensor is not None else None
                    seen.add(name)
                    if card is not None:
                        yield name, card


# -- the call ---------------------------------------------------------------------------------------------------------


def _call(trace: Trace, at: int, line: ev.SourceLine) -> ev.Dispatched | None:
    """Return the call of a step, or else the first call of its line."""
    return at_or_around(trace, at, ev.Dispatched) or _first_call(trace, line.seq)


def _first_call(trace: Trace, seq: int) -> ev.Dispatched | None:
    last = min(trace.ends[seq], seq + LOOKED_AT)
    code, kinds = trace.columns.code(ev.Dispatched), trace.columns.kinds
    found = next((trace[step] for step in range(seq + 1, last + 1) if kinds[step] == code), None)
    return found if isinstance(found, ev.Dispatched) else None

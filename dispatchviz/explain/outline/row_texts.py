"""The texts of an outline's rows: of a line of the program, an iteration, a call, another event."""

from __future__ import annotations

from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE
from dispatchviz.explain.kinds.all_kinds import group, label
from dispatchviz.explain.kinds.module import module_row
from dispatchviz.explain.outline.call_facts import Fact
from dispatchviz.explain.outline.facts import facts, leaves, sized
from dispatchviz.explain.outline.line_rows import GOES_ON, RowKind
from dispatchviz.explain.outline.outline import MANY, Outline
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_lines, source_text, within
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.other_threads import line_elsewhere, lines_meanwhile
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import plain_dtype, shaped

NAMED = 2
"""The number of variables bound by a statement that are shown: the last ones."""

LOOKED_AT = 50
"""The number of bindings before the end of a statement that are read. Those of a function that it calls come
earlier.
"""

CALL_IN_LINE = 2
"""The difference in depth between a line and the call of an operator on it. Its binding is between them."""

DEEPEST = 12
"""The largest number of spaces before a statement."""

Texts = tuple[Fact, list[Fact]]
"""The title of a row, and the facts about it."""


def row_texts(outline: Outline, item: int) -> Texts:
    """Return the texts of an item's row."""
    kind, trace = outline.kind(item), outline.trace
    begin, end = outline.begin(item), outline.end(item)
    if item >= MANY:
        return (heading(outline, item), "registration"), [*facts(trace, begin, end), *leaves(trace, begin, end)]
    if kind is None:
        return event_texts(trace, item)
    if kind is RowKind.STATEMENT:
        blanks = " " * min(_indented(outline, item), DEEPEST)
        text = (blanks + _statement(trace, begin), "program")
        other = [
            (f"with line {_number(trace, step)} of another thread", "program")
            for step in lines_meanwhile(trace, begin, end)
        ]
        happened = [*_again(trace, begin), *other[:NAMED], *facts(trace, begin, end), *_results(outline, item)]
        return text, [*happened, *leaves(trace, begin, end)]
    return (heading(outline, item), "program"), [*facts(trace, begin, end), *leaves(trace, begin, end)]


def _statement(trace: Trace, step: int) -> str:
    event = trace[step]
    if not isinstance(event, ev.SourceLine):
        return "?"
    return source_text(trace, event) or f"line {event.line} of {event.file}"


def _number(trace: Trace, step: int) -> int:
    event = trace[step]
    return event.line if isinstance(event, ev.SourceLine) else 0


def _again(trace: Trace, step: int) -> list[Fact]:
    """Return the text for a line that is continued, such as a ``with`` line when its block ends."""
    event = trace[step]
    if not isinstance(event, ev.SourceLine) or not event.resumed:
        return []
    is_with = source_text(trace, event).startswith(("with ", "with(", "async with ", "async with("))
    return [("the block ends" if is_with else "goes on", "program")]


def _indented(outline: Outline, item: int) -> int:
    """Return the indentation of a statement relative to the function or iteration of its row. ``with`` and ``if`` have
    no row around their contents.
    """
    trace, parent = outline.trace, outline.lines.parents[~item]
    around = 0 if parent == NONE else _column(trace, outline.lines.begins[parent])
    return max(_column(trace, outline.begin(item)) - around, 0)


def _column(trace: Trace, step: int) -> int:
    """Return the number of spaces before a line of the program."""
    event = trace[step]
    lines = source_lines(trace, event.file) if isinstance(event, ev.SourceLine) else ()
    if not isinstance(event, ev.SourceLine) or not 0 < event.line <= len(lines):
        return 0
    text = lines[event.line - 1].expandtabs()
    return len(text) - len(text.lstrip())


def heading(outline: Outline, item: int) -> str:
    """Return the title of an iteration or a call: ``iteration 3``, ``call 2 of f``, ``items goes on``,
    ``registrations``. In a recording of a part, iterations before it are not counted: ``recorded iteration 1``.
    """
    if item >= MANY:
        return "registrations"
    number = outline.lines.numbers[~item]
    if outline.kind(item) is RowKind.ITERATION:
        iterations = outline.lines.counts[outline.lines.parents[~item]]
        title = "recorded iteration" if outline.trace.header.only else "iteration"
        return f"{title} {number:,}" if number <= iterations else "the condition is false"
    event = outline.trace[outline.begin(item)]
    function = event.function if isinstance(event, ev.SourceLine) else ""
    if number == GOES_ON:
        return f"{function or 'the call'} goes on"
    return f"call {number:,}{f' of {function}' if function else ''}"


def _results(outline: Outline, item: int) -> list[Fact]:
    """Return the variables that a statement binds, with their descriptions."""
    trace, end = outline.trace, outline.end(item)
    columns = trace.columns
    if count := outline.lines.counts.get(~item):
        return [(f"{count:,} iterations", "program")] if count > 1 else []
    last = islice(reversed(between(trace, ev.NameBound, outline.begin(item), end)), LOOKED_AT)
    steps = [step for step in last if _is_of(outline, step, item)]
    bound = [(columns.name_texts[columns.names[at]], columns.tensors[at]) for at in steps]
    new = [each for each in bound if each[0].isidentifier() and not _was_so(trace, *each, outline.begin(item))]
    variables = [(name, sized(trace, tensor, end)) for name, tensor in new][:NAMED]
    return [(f"{name}: {size}" if size else name, "tensor") for name, size in variables[::-1]]


def _was_so(trace: Trace, name: str, tensor: int, begin: int) -> bool:
    """Return whether a variable only has its tensor again, after a function that used the name for another."""
    return tensor_name(trace, tensor, begin) == name


def _is_of(outline: Outline, step: int, item: int) -> bool:
    """Return whether a step is on the line of a statement itself and not in a function that it calls."""
    return next(outline.lines.around(step), None) == ~item


# -- events ------------------------------------------------------------------------------------------------------------


def event_texts(trace: Trace, seq: int, name: str | None = None) -> Texts:
    """Return the texts of an event's row. ``name`` is its label if that is known."""
    event = trace[seq]
    other = _elsewhere(trace, seq)
    if isinstance(event, ev.Dispatched):
        return (_call(event), "dispatch"), [*other, *_call_facts(trace, event)]
    if isinstance(event, ev.ModuleCalled):
        end = trace.ends[seq]
        return (module_row(trace, event), "program"), [*other, *facts(trace, seq, end), *leaves(trace, seq, end)]
    return (label(trace, seq) if name is None else name, group(event)), other


def _elsewhere(trace: Trace, seq: int) -> list[Fact]:
    """Return the line of another thread, for an event that belongs to another line than the row above. Nested events
    have none.
    """
    line = line_elsewhere(trace, seq)
    if line is None or trace.depths[seq] > trace.depths[line] + CALL_IN_LINE:
        return []
    return [(f"line {_number(trace, line)}, another thread", "program")]


def _call(event: ev.Dispatched) -> str:
    """Return the text of a call: ``add.Tensor → AutogradCUDA``, ``redispatch → CUDA``."""
    name = event.operator.removeprefix("aten::")
    return f"redispatch {name} → {event.key}" if event.is_redispatch else f"{name} → {event.key}"


def _call_facts(trace: Trace, event: ev.Dispatched) -> list[Fact]:
    """Return the kernel, and the tensors that it returned."""
    selected = within(trace, event.seq, ev.KernelSelected)
    kernel = [(selected.kernel, "dim")] if selected is not None and selected.kernel else []
    return [*kernel, *_returned(trace, event)]


def _returned(trace: Trace, event: ev.Dispatched) -> list[Fact]:
    end = trace.ends[event.seq]
    steps = between(trace, ev.KernelReturned, event.seq, end)
    last = trace[steps[-1]] if steps else None
    if not isinstance(last, ev.KernelReturned) or len(last.tensors) != 1 or not _belongs(trace, last, event):
        return []
    tensor, known = last.tensors[0], index(trace)
    made, shape = known.tensors.get(tensor), known.shape(tensor, end)
    if made is None or shape is None:
        return []
    return [(f"{tensor_name(trace, tensor, end)} {shaped(shape)} {plain_dtype(made.dtype)}", "tensor")]


def _belongs(trace: Trace, returned: ev.KernelReturned, event: ev.Dispatched) -> bool:
    """Return whether a kernel that returned is the one that the call selected."""
    return trace.depths[returned.seq] - trace.depths[event.seq] <= 2

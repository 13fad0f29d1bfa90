"""The names of lines, tensors and calls in diagnoses, in the words of the program's author."""

from __future__ import annotations

import os
from bisect import bisect_left
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.calls_around import maker, plain
from dispatchviz.explain.trace_index.display_names import code_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text, user_stack, within
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import ordinal, shortened

COPIES = frozenset(("empty", "_to_copy", "to", "lift_fresh", "detach_"))
"""The operators that ``torch.tensor`` calls on either engine."""

LONGEST = 60
"""The length at which a line of the program is cut."""

MOST = 1_000
"""The number of calls of one line, and of its runs, that are read."""

OUR_WORDS = ("line ", "a view ", "a tensor", "the result ", "that result", "the tensor ")
"""The beginnings of names that are not variables."""


def on_line(trace: Trace, seq: int, text: bool = True) -> str:
    """Return a line: ``line 4 (y = x * 2)``, ``line 9 (h = self.fc(x)) in blocks.1``, or without ``text`` ``line 4``.
    It has the file's name if that is not the program's own; empty if the step has no line.
    """
    line = line_of(trace, seq)
    if line is None:
        return ""
    file = file_of(trace, line)
    if not text:
        return f"{file}line {line.line}"
    code, module = shortened(source_text(trace, line).partition("  #")[0], LONGEST), module_of_line(trace, line)
    return f"{file}line {line.line}{f' ({code})' if code else ''}{f' in {module}' if module else ''}"


def module_of_line(trace: Trace, line: ev.SourceLine) -> str:
    """Return the module whose forward a line is in: ``blocks.1``. An outermost module only if others run the line
    too.
    """
    own = _called_module(trace, line.seq)
    return index(trace).shown_module(own) if "." in own or (own and _runs_for_others(trace, line.seq, own)) else ""


def _runs_for_others(trace: Trace, line: int, module: str) -> bool:
    steps, places = trace.steps_of(ev.SourceLine), trace.columns.places
    at = bisect_left(steps, line)
    same = (step for step, place in zip(steps, places, strict=False) if at < len(places) and place == places[at])
    return any(_called_module(trace, step) != module for step in islice(same, MOST))


def _called_module(trace: Trace, line: int) -> str:
    """Return the path of the module whose call a line is directly in; empty if there is none."""
    parent = trace.columns.parents[line]
    called = trace[parent] if parent >= 0 else None
    return called.name if isinstance(called, ev.ModuleCalled) else ""


def file_of(trace: Trace, line: ev.SourceLine) -> str:
    """Return ``model.py, `` for a line that is not in the program's own file, if there are several files."""
    own = line.file == trace.header.program or len(trace.header.sources) == 1
    return "" if own else f"{os.path.basename(line.file)}, "


def line_of(trace: Trace, seq: int) -> ev.SourceLine | None:
    """Return the line of a step. For the error that ended the program, the line that raised it, which may have called
    the last line.
    """
    line, event = source_line(trace, seq), trace[seq]
    if line is None or not isinstance(event, ev.ProgramRaised) or line.line == event.line:
        return line
    callers = (each for each in reversed(user_stack(trace, seq)) if (each.file, each.line) == (event.file, event.line))
    return next(callers, line)


def begun(text: str) -> str:
    """Return a text as the beginning of a sentence: ``Line 4`` for ``line 4``. A variable keeps its case."""
    return text[:1].upper() + text[1:] if text.startswith(OUR_WORDS) else text


def last_name(trace: Trace, tensor: int, at: int) -> str:
    """Return a tensor by its variable as of a step, ``w``, or else by its maker, ``the result of mul on line 4``."""
    name = code_name(trace, tensor, at)
    if name != f"t{tensor}":
        return _earlier(trace, tensor, name) if name.startswith("earlier ") else name.removesuffix(f" (t{tensor})")
    view = index(trace).views.get(tensor)
    if view is not None and (base := last_name(trace, view.base, at)) and not base.startswith("the "):
        return f"a view of {base}"
    call = made_by(trace, tensor)
    return made_on(trace, tensor) or name if call is None else result_of(trace, call)


def _earlier(trace: Trace, tensor: int, name: str) -> str:
    """Return ``the w of line 2`` for ``earlier w (t0)``."""
    made = index(trace).tensors.get(tensor)
    where = on_line(trace, made.seq, text=False) if made is not None else ""
    return f"the {name.removeprefix('earlier ').partition(' ')[0]} of {where}" if where else name


def made_on(trace: Trace, tensor: int) -> str:
    """Return a tensor that no operator made: ``the tensor made on line 4``; empty if it was made before the recording
    began.
    """
    made = index(trace).tensors.get(tensor)
    where = on_line(trace, made.seq, text=False) if made is not None and made.how == "new" else ""
    return f"the tensor made on {where}" if where else ""


def result_of(trace: Trace, call: ev.Dispatched) -> str:
    """Return ``the result of mul on line 4``, or ``the result of the second ones on line 4`` if there are several calls
    of one operator.
    """
    where, name = on_line(trace, call.seq, text=False), _maker_name(trace, call)
    same = [each for each in _calls_on_line(trace, call) if base_name(each) == base_name(call)]
    which = f"the {ordinal(same.index(call) + 1)} {name}" if len(same) > 1 and call in same else name
    return f"the result of {which}{f' on {where}' if where else ''}"


def _calls_on_line(trace: Trace, call: ev.Dispatched) -> list[ev.Dispatched]:
    """Return the program's own calls in the run of a line that made a call."""
    line = source_line(trace, call.seq)
    if line is None:
        return []
    steps, columns = trace.steps_of(ev.Dispatched), trace.columns
    lines, begin = trace.steps_of(ev.SourceLine), bisect_left(steps, line.seq)
    after = bisect_left(lines, call.seq)
    end = bisect_left(steps, lines[after] if after < len(lines) else len(trace))
    inner = {trace.columns.code(kind) for kind in (ev.Dispatched, ev.NodeStarted)}
    here = steps[begin : min(end, begin + MOST)]
    own = (step for step in here if not any(columns.kinds[each] in inner for each in columns.ancestors(step)))
    return [event for event in map(trace.__getitem__, own) if isinstance(event, ev.Dispatched)]


def _maker_name(trace: Trace, call: ev.Dispatched) -> str:
    """Return ``torch.tensor`` if the line calls that, or else the operator."""
    name, line = base_name(call), source_line(trace, call.seq)
    is_copy = name in COPIES and line is not None and "torch.tensor(" in source_text(trace, line)
    return "torch.tensor" if is_copy else name


def base_name(call: ev.Dispatched) -> str:
    """Return the name that the program calls: ``add`` for ``aten::add.Tensor``."""
    return plain(call).partition(".")[0]


def made_by(trace: Trace, tensor: int) -> ev.Dispatched | None:
    """Return the call that made a tensor, or None if it was made before the recording began, or by no operator."""
    made = index(trace).tensors.get(tensor)
    return None if made is None or made.how != "new" else maker(trace, made.seq, tensor)


def arguments_of(trace: Trace, call: ev.Dispatched) -> tuple[int, ...]:
    """Return the tensor arguments of a call, without numbers that Python wrapped."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    tensors = () if computed is None else dict.fromkeys(tensor for _, tensor, _ in computed.arguments)
    known = index(trace).tensors
    return tuple(each for each in tensors if (made := known.get(each)) is None or not made.wrapped_number)


def article(noun: str) -> str:
    """Return the article of a noun: ``an`` for ``int``."""
    return "an" if noun[:1].lower() in "aeio" else "a"


def sentence(text: str) -> str:
    """Return a text that begins with one of our words as the beginning of a sentence."""
    return text[:1].upper() + text[1:]

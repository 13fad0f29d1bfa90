"""A view of a step as JSON: its lines with the role of each part, where they lead and which tensor or Node they are
about; and the value behind the view, if it is plain.

The text of the lines is that of ``step_text.py``. An event within a value is an array, as in a trace file. A 64-bit key
set is a number, as there; JavaScript rounds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.graph.engine_state import engine_state
from dispatchviz.explain.graph.memory.memory_card import memory_card
from dispatchviz.explain.kinds.all_kinds import label, rule, sign, why_here
from dispatchviz.explain.things.thing import Thing
from dispatchviz.explain.trace_index.recorded_engine import engine_text
from dispatchviz.explain.trace_index.step_tensors import tensors_of
from dispatchviz.explain.trace_index.tensor_card import tensor_card
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.foundation.terminal_output import print_json_lines
from dispatchviz.outputs.log.text_log import log_rows
from dispatchviz.outputs.step.step_text import LOG, WIDTH, check_view, step_shown, text_width, view_names, view_rows
from dispatchviz.views.text.styled_line import Line, Span

VALUES: Mapping[str, Callable[[Trace, int], Any]] = {
    "why": lambda trace, at: {"sentence": why_here(trace, at), "rule": rule(trace[at])},
    "key-set": lambda trace, at: key_set_card(trace, at),
    "cell": lambda trace, at: cell_card(trace, at),
    "calls": lambda trace, at: call_stack(trace, at),
    "thread": lambda trace, at: thread_state(trace, at),
    "tensors": lambda trace, at: [tensor_card(trace, tensor, at) for tensor in tensors_of(trace, at)],
    "engine": lambda trace, at: engine_state(trace, at),
    "memory": lambda trace, at: memory_card(trace, at),
}
"""The views that are made from a value, with the function that returns it. The other views are made line by line."""


def step_json(trace: Trace, at: int, views: Iterable[str] = (), width: int = WIDTH) -> dict[str, Any]:
    """Return a step with some of its views; if none is named, with all of them except the log. All values are plain, so
    any JSON encoder accepts them.

    Raise DispatchvizError for an unknown view.
    """
    names = tuple(views) or tuple(name for name in view_names() if name != LOG)
    event = trace[at]
    return {
        "program": trace.header.program,
        "engine": engine_text(trace.header),
        "steps": len(trace),
        "step": at,
        "label": f"{sign(event)} {label(trace, at)}",
        "sentence": why_here(trace, at),
        "event": _event(event),
        "views": {name: view_json(trace, at, name, width) for name in names},
    }


def view_json(trace: Trace, at: int, name: str, width: int = WIDTH) -> dict[str, Any]:
    """Return one view: ``lines``, and ``value`` if there is one. Raise DispatchvizError for an unknown view."""
    check_view(name)
    made: dict[str, Any] = {"lines": list(_lines(trace, at, name, width))}
    if name in VALUES:
        made["value"] = _plain(VALUES[name](trace, at))
    return made


def print_json(trace: Trace, step: int | None, name: str | None) -> None:
    """Print a step with one view, or with all of them if no name is given. The default step is the one at which the
    stepper opens.
    """
    shown = step_json(trace, step_shown(trace, step), [name] if name else (), text_width())
    print_json_lines(encoded(shown).split("\n"))


def encoded(value: dict[str, Any]) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _lines(trace: Trace, at: int, name: str, width: int) -> Iterator[dict[str, Any]]:
    if name != LOG:
        yield from (_line(row, spans) for row, spans in view_rows(trace, at, name, width))
        return
    for row in log_rows(trace, at):
        yield {"text": f"{row.margin}{row.sign}{row.text}", "reason": row.is_reason}


def _line(row: Line, spans: Iterable[Span]) -> dict[str, Any]:
    parts = [{"text": "".join(text for text, _ in same), "role": role} for role, same in groupby(spans, itemgetter(1))]
    made: dict[str, Any] = {"text": "".join(part["text"] for part in parts), "spans": parts}
    if row.goto is not None:
        made["goto"] = row.goto
    if row.about is not None:
        made["about"] = _thing(row.about)
    return made


def _thing(thing: Thing) -> dict[str, Any]:
    """Return a tensor or Node as JSON: ``{"kind": "tensor", "number": 3}``."""
    return {"kind": type(thing).__name__.removesuffix("Thing").lower(), **msgspec.structs.asdict(thing)}


def _event(event: AnyEvent) -> dict[str, Any]:
    """Return an event's fields by name, after its kind."""
    fields = msgspec.to_builtins(msgspec.structs.asdict(event))
    return {"kind": type(event).__name__, **fields}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_encoded)


def _encoded(value: Any) -> Any:
    """Return a value that JSON does not have: an event by its fields, anything else as text."""
    return str(value)

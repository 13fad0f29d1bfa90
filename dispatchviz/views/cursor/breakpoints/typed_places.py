"""Places to stop at, by the names that a reader types: a line, a variable, a Node, an operator, a key, an event and
others.

A name that is not in the trace is refused with a list of the existing names. While a trace is being recorded, unknown
names are accepted, since they may still appear.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import known_key
from dispatchviz.explain.sentences.statement import numbers_of_steps
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed
from dispatchviz.views.cursor import named_steps
from dispatchviz.views.cursor.breakpoints.breakpoint import (
    EVENT,
    FUNCTION,
    KEY,
    LINE,
    NODE,
    OPERATOR,
    STEP,
    VARIABLE,
    Breakpoint,
)
from dispatchviz.views.cursor.breakpoints.hunt import LIKE
from dispatchviz.views.cursor.typed_text import is_whole_number, repeated, whole_number

KINDS = {kind.__name__.casefold(): kind.__name__ for kind in ev.KINDS}
"""The kinds of events by name, in any capitalization."""

MOST_NAMED = 8
"""The maximum number of existing names to list."""

PREFIXED = re.compile(r"(?P<what>step|line|variable|node|operator|key|event|function)\s+(?P<name>\S.*)", re.IGNORECASE)

FILE_LINE = re.compile(r"(?P<file>.+):(?P<line>[0-9]+)")

PYTHON = ("torch.", "tensor.")
"""The prefixes by which names of Python functions are recognized without a word before them."""


def place_named(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    """Return the place that a text names, or the reason why there is none."""
    if is_whole_number(text):
        return _step(text, trace, growing)
    if (prefixed := PREFIXED.fullmatch(text)) is not None:
        return READERS[prefixed["what"].casefold()](prefixed["name"].strip(), trace, growing)
    named = _bare(text, trace)
    if named is not None:
        return named
    if FILE_LINE.fullmatch(text) and "::" not in text:
        return _line(text, trace, growing)
    if text.casefold().startswith(PYTHON):
        return Breakpoint(FUNCTION, text)
    return _unknown(text, trace)


def _step(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    if not is_whole_number(text):
        return f"{repeated(text)} is not a step number"
    if growing or whole_number(text) < len(trace):
        return Breakpoint(STEP, str(whole_number(text)))
    return f"There is no step {repeated(text)}. The steps are {numbers_of_steps(len(trace))}"


def _line(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    named = FILE_LINE.fullmatch(text)
    if named is None and not is_whole_number(text):
        return f"{repeated(text)} is not a line. Write line 6 or forum.py:6"
    name, line = (named["file"], whole_number(named["line"])) if named else ("", whole_number(text))
    ran, program = named_steps.ran(trace), trace.header.program
    files = [file for file in ran if not name or file == name or file.endswith(f"/{name}")]
    there = [file for file in files if line in ran[file]]
    if not name and program in there:
        there = [program]
    if len(there) == 1:
        return Breakpoint(LINE, f"{there[0]}:{line}")
    if there:
        return f"Line {line} ran in {listed(there[:MOST_NAMED])}. Write {there[0].rpartition('/')[2]}:{line}"
    if growing:
        return Breakpoint(LINE, f"{next(iter(files), name or program)}:{line}")
    if not files:
        return f"No line of a file {repeated(name)} ran. Files: {_some(list(ran))}"
    file = program if program in files else files[0]
    return f"Line {line} of {file} did not run. Lines that ran: {_numbers(sorted(ran[file]))}"


def _numbers(numbers: Sequence[int]) -> str:
    return listed([str(each) for each in numbers[:MOST_NAMED]] + (["more"] if len(numbers) > MOST_NAMED else []))


def _variable(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    there = named_steps.variables(trace)
    shown = {index(trace).shown(name): name for name in there}
    found = text if text in there else shown.get(text, "")
    if found or growing:
        return Breakpoint(VARIABLE, found or text)
    return f"This trace has no variable {repeated(text)}. {_near(text, list(shown), 'variables')}"


def _of_names(what: str, plural: str, names: Callable[[Trace], list[str]]) -> Reader:
    def read(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
        there = names(trace)
        found = next((name for name in there if name.casefold() == text.casefold()), "")
        if found or growing:
            return Breakpoint(what, found or text)
        return f"This trace has no {KIND_NAMES[what]} {repeated(text)}. {_near(text, there, plural)}"

    return read


KIND_NAMES = {NODE: "Node"}


def _operator(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    there = _operator_names(trace)
    if text.casefold() in there:
        return Breakpoint(OPERATOR, there[text.casefold()])
    if growing:
        return Breakpoint(OPERATOR, text if "::" in text else f"aten::{text}")
    names = list(dict.fromkeys(named_steps.base(name) for name in named_steps.operators(trace)))
    return f"This trace has no call of an operator {repeated(text)}. {_near(text, names, 'operators')}"


def _operator_names(trace: Trace) -> dict[str, str]:
    """The operators by every name that people type, in lower case. Names without ``aten::`` mean PyTorch's own
    operators first.
    """
    called = named_steps.operators(trace)
    full = {name.casefold(): name for operator in reversed(called) for name in (operator, named_steps.base(operator))}
    by_namespace = sorted(full.values(), key=lambda name: name.startswith("aten::"))
    return {name.partition("::")[2].casefold(): name for name in by_namespace} | full


def _key(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    there, key = named_steps.keys(trace), known_key(text)
    name = str(key) if key is not None else next((each for each in there if each.casefold() == text.casefold()), "")
    if name and (growing or name in there):
        return Breakpoint(KEY, name)
    if key is None:
        return f"There is no key {repeated(text)}. {_near(text, there, 'keys')}"
    near = difflib.get_close_matches(name, there, 3, LIKE)
    keys = f"Near: {', '.join(near)}" if near else f"Its keys: {', '.join(there) or 'none'}"
    return f"No call in this trace is dispatched to {name}. {keys}"


def _event(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    kind, there = KINDS.get(text.casefold()), named_steps.kinds(trace)
    if kind is None:
        return f"There is no kind of event {repeated(text)}. {_near(text, list(KINDS.values()), 'kinds')}"
    if growing or kind in there:
        return Breakpoint(EVENT, kind)
    near = difflib.get_close_matches(kind, there, 3, LIKE)
    why = f"This trace has no event of the kind {kind}"
    return f"{why}. Near: {', '.join(near)}" if near else why


def _function(text: str, trace: Trace, growing: bool) -> Breakpoint | str:
    return Breakpoint(FUNCTION, text)


Reader = Callable[[str, Trace, bool], Breakpoint | str]

READERS: Mapping[str, Reader] = {
    STEP: _step,
    LINE: _line,
    VARIABLE: _variable,
    NODE: _of_names(NODE, "Nodes", named_steps.nodes),
    OPERATOR: _operator,
    KEY: _key,
    EVENT: _event,
    FUNCTION: _function,
}
"""The readers of places, by the word before a name."""


# -- names without a word before them ----------------------------------------------------------------------------------


def _bare(text: str, trace: Trace) -> Breakpoint | None:
    """Find a name without a word before it in the trace: first as a kind of event, then as a key, an operator, a Node
    and a variable.
    """
    for what in (EVENT, KEY, OPERATOR, NODE, VARIABLE):
        found = READERS[what](text, trace, False)
        if isinstance(found, Breakpoint):
            return found
    return None


def _unknown(text: str, trace: Trace) -> str:
    if text.casefold() in KINDS or known_key(text) is not None:
        return str(READERS[EVENT if text.casefold() in KINDS else KEY](text, trace, False))
    why = f"This trace has no step, event, key, operator, Node or variable {repeated(text)}"
    near = _alike(text, _every_name(trace))
    return f"{why}. Near: {', '.join(near)}" if near else why


def _every_name(trace: Trace) -> list[str]:
    operators = [name for each in named_steps.operators(trace) for name in (named_steps.base(each), each)]
    return [
        *named_steps.kinds(trace), *named_steps.keys(trace), *operators, *named_steps.nodes(trace),
        *named_steps.variables(trace),
    ]  # fmt: skip


def _near(text: str, names: Sequence[str], plural: str) -> str:
    near = _alike(text, names)
    return f"Near: {', '.join(near)}" if near else f"Its {plural}: {_some(names)}"


def _alike(text: str, names: Sequence[str]) -> list[str]:
    """The up to four names that resemble a text or contain it."""
    by_text = {name.casefold(): name for name in names}
    by_text |= {name.partition("::")[2].casefold(): name for name in names if "::" in name}
    text = text.casefold()
    alike = difflib.get_close_matches(text, by_text, 3, LIKE)
    having = (name for name in by_text if text and text in name)
    return list(dict.fromkeys(by_text[name] for name in (*alike, *having)))[:4]


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:MOST_NAMED])}{', ...' if len(names) > MOST_NAMED else ''}" if names else "none"

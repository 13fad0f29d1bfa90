"""The program's writes to NumPy arrays that share their memory with tensors.

NumPy reports nothing, so they are found through the lines: those that ran and that write to the array's variable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.silent.calls import outermost_calls
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import events_between
from dispatchviz.explain.trace_index.trace_index import index

LINES = 2_000
"""The number of lines of the program that are read after an array got the memory of a tensor."""

TO_NUMPY = re.compile(r"^\s*([A-Za-z_]\w*)\s*=[^=].*\.numpy\(\)\s*$")
"""``a = y.detach().numpy()``"""

AT_ONCE = re.compile(r"\.numpy\(\)\s*\[.*\]\s*[-+*/]?=[^=]")
"""``y.detach().numpy()[0] = 5``"""

FROM_NUMPY = re.compile(r"^\s*([A-Za-z_]\w*)\s*=\s*torch\.from_numpy\(\s*([A-Za-z_]\w*)\s*\)\s*$")
"""``x = torch.from_numpy(a)``"""


METHODS = ("fill", "itemset", "partition", "put", "sort")
FUNCTIONS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "random.shuffle")
"""The methods of an array, and the functions of NumPy with it as the first argument (``np.add.at``), that write to
it.
"""


class NumpyWrite(NamedTuple):
    """A line that writes to the memory of a tensor through NumPy."""

    tensor: int
    step: int
    array: str
    """The array's variable; empty if it has none."""
    shared: int
    """The step at which the array and the tensor began to share memory."""
    from_numpy: bool


def numpy_writes(trace: Trace) -> Iterator[NumpyWrite]:
    """Yield the writes of the program's own lines to arrays that ``numpy()`` returned or ``from_numpy`` got."""
    for call in outermost_calls(trace, lambda name: name == "resolve_neg"):
        line, at = source_line(trace, call.seq), call.seq
        text = "" if line is None else _code(trace, line)
        named = TO_NUMPY.match(text)
        if AT_ONCE.search(text):
            yield NumpyWrite(call.tensors[0], at, "", at, from_numpy=False)
        elif line is not None and named is not None:
            for step in _written(trace, line, named[1]):
                yield NumpyWrite(call.tensors[0], step, named[1], at, from_numpy=False)
    yield from _from_numpy(trace)


def _from_numpy(trace: Trace) -> Iterator[NumpyWrite]:
    if not any("from_numpy" in text for text in trace.header.sources.values()):
        return
    for bound in map(trace.__getitem__, trace.steps_of(ev.NameBound)):
        line = source_line(trace, bound.seq)
        found = None if line is None else FROM_NUMPY.match(_code(trace, line))
        if line is None or found is None or not isinstance(bound, ev.NameBound) or found[1] != bound.name:
            continue
        made = index(trace).tensors.get(bound.tensor)
        if made is not None:
            for step in _written(trace, line, found[2]):
                yield NumpyWrite(bound.tensor, step, found[2], made.seq, from_numpy=True)


def _code(trace: Trace, line: ev.SourceLine) -> str:
    return source_text(trace, line).partition("  #")[0]


def _written(trace: Trace, since: ev.SourceLine, name: str) -> Iterator[int]:
    """Yield the lines of the same function that write to an array, until its variable gets another value."""
    lines = events_between(trace, ev.SourceLine, since.seq + 1, len(trace) - 1)
    for line in islice(lines, LINES):
        if (line.file, line.function) != (since.file, since.function) or line.resumed:
            continue
        what = _writes(_code(trace, line), name)
        if what == "binds":
            return
        if what == "writes":
            yield line.seq


@lru_cache(maxsize=1024)
def _writes(code: str, name: str) -> str:
    """Return the effect of a line on a variable: ``writes`` to its array, ``binds`` it to another value, or empty."""
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError):
        return ""
    return next((what for each in statements if (what := _does(each, name))), "")


def _does(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, ast.AugAssign):
        return "writes" if _is(statement.target, name) or _is_part(statement.target, name) else ""
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(value, ast.Call) and _fills(value, name):
        return "writes"
    if isinstance(statement, ast.Assign):
        if any(_is(target, name) for target in statement.targets):
            return "binds"
        return "writes" if any(_is_part(target, name) for target in statement.targets) else ""
    return ""


def _fills(call: ast.Call, name: str) -> bool:
    """Return whether a call writes to an array: by a method of it, by a function of NumPy, or as ``out=``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and _is(call.func.value, name):
        return True
    function = ast.unparse(call.func).partition(".")
    first = function[0] in ("np", "numpy") and (function[2] in FUNCTIONS or function[2].endswith(".at"))
    return (first and bool(call.args) and _is(call.args[0], name)) or any(
        each.arg == "out" and _is(each.value, name) for each in call.keywords
    )


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _is_part(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Subscript) and _is(target.value, name)

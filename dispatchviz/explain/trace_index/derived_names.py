"""Names for tensors without a variable that are one step from one: the transpose of ``w``, ``x`` before ``.cuda()``.

``x = torch.randn(2).cuda()`` binds the result of the last method. The tensor on which that method was called has no
name, so it is called ``x before .cuda()``. The calls identify the tensor, and the program's source identifies the
methods.

``display_names.py`` returns the name as of a step.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.calls_around import maker, plain
from dispatchviz.explain.trace_index.enclosing_steps import source_line, within
from dispatchviz.explain.trace_index.lookups import KEPT
from dispatchviz.explain.trace_index.trace_index import Derived, index

TRANSPOSES = frozenset(("t", "transpose.int", "numpy_T", "mT", "permute", "swapaxes", "swapdims"))
"""The operators that return the transpose of a matrix if they swap its dimensions."""

CONVERSIONS = frozenset(
    ("cuda", "cpu", "to", "type", "type_as", "double", "float", "half", "bfloat16", "int", "long", "short", "bool")
)
"""The methods that call ``aten::to``."""

TRANSPOSED, BEFORE = ".T", " before ."
"""The beginnings of the text that is added to a name."""

MOST_METHODS = 2
"""The largest number of methods in a name."""

LONGEST = 12
"""The largest length of a method's arguments that are shown."""


def derived(trace: Trace, tensor: int) -> Derived | None:
    """Return the tensor that is one step away, or None if there is none or it is not known."""
    known = index(trace).derived
    try:
        return known[tensor]
    except KeyError:
        if len(known) >= KEPT:
            known.clear()
        found = known[tensor] = _find(trace, tensor)
        return found


def _find(trace: Trace, tensor: int) -> Derived | None:
    made = index(trace).tensors.get(tensor)
    if made is None or made.how != "new" or made.wrapped_number:
        return None
    return _transposed(trace, made) or _called_on(trace, made)


def _transposed(trace: Trace, made: ev.TensorCreated) -> Derived | None:
    """Return the matrix whose transpose a tensor is: both dimensions swapped, on the same memory, neither changed
    since.
    """
    known = index(trace)
    if len(made.shape) != 2 or not known.on_memory_known_before(made):
        return None
    call = maker(trace, made.seq, made.tensor)
    if call is None or plain(call) not in TRANSPOSES:
        return None
    number = _receiver(trace, call)
    matrix = None if number is None else known.tensors.get(number)
    if matrix is None or matrix.storage != made.storage or made.storage < 0:
        return None
    if (made.shape, made.stride) != (matrix.shape[::-1], matrix.stride[::-1]):
        return None
    if any(known.steps_about(each.tensor, ev.GeometryChanged) for each in (made, matrix)):
        return None
    return Derived(matrix.tensor, TRANSPOSED)


def _receiver(trace: Trace, call: ev.Dispatched) -> int | None:
    """Return the tensor that is ``self`` of a call, or None if it has none."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    if computed is None or not computed.arguments or computed.arguments[0][0] != "self":
        return None
    return computed.arguments[0][1]


# -- receivers of methods ----------------------------------------------------------------------------------------------


class _Method(NamedTuple):
    name: str
    text: str
    """The method with its arguments: ``to(device)``."""


class _Chain(NamedTuple):
    """An assignment of the result of chained methods to a variable."""

    variable: str
    methods: tuple[_Method, ...]
    """The methods, last one first."""


def _called_on(trace: Trace, made: ev.TensorCreated) -> Derived | None:
    """Return the tensor that a statement binds, if one of its last methods was called on the given tensor."""
    line = source_line(trace, made.seq)
    chain = None if line is None else _chains(trace.header.sources.get(line.file, "")).get(line.line)
    bound = None if chain is None else _bound(trace, made.seq, chain.variable)
    if chain is None or bound is None:
        return None
    methods = ""
    for method, tensor in _receivers(trace, bound, chain):
        methods = f".{method.text}{methods}"
        if tensor == made.tensor:
            return Derived(bound, f"{BEFORE}{methods[1:]}")
    return None


def _bound(trace: Trace, since: int, variable: str) -> int | None:
    """Return the tensor that the line of a step binds to a variable next."""
    bindings = index(trace).holders.get(variable)
    place = 0 if bindings is None else bisect_right(bindings.steps, since)
    if bindings is None or place == len(bindings.steps):
        return None
    step, tensor = bindings[place]
    return tensor if _is_same_line(trace, since, step) else None


def _receivers(trace: Trace, tensor: int, chain: _Chain) -> Iterator[tuple[_Method, int]]:
    """Yield the methods, last one first, each with the tensor that it was called on, as far as the calls show it."""
    for method in chain.methods[:MOST_METHODS]:
        made = index(trace).tensors.get(tensor)
        call = None if made is None else maker(trace, made.seq, tensor)
        if made is None or call is None or not _is_same_line(trace, made.seq, call.seq):
            return
        name = plain(call).partition(".")[0]
        if name != method.name and not (name in ("to", "_to_copy") and method.name in CONVERSIONS):
            if method.name.endswith("_"):  # it returns the tensor that it was called on
                continue
            return
        called_on = _receiver(trace, call)
        if called_on is None:
            return
        tensor = called_on
        yield method, tensor


def _is_same_line(trace: Trace, step: int, other: int) -> bool:
    first, second = source_line(trace, step), source_line(trace, other)
    if first is None or second is None:
        return False
    return (first.file, first.line, first.function) == (second.file, second.line, second.function)


@lru_cache(maxsize=64)
def _chains(text: str) -> Mapping[int, _Chain]:
    """Return the statements of a file that bind the result of a method, by line."""
    if ")." not in text and "]." not in text:
        return {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[int, _Chain] = {}
    several = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            several |= {node.lineno} & found.keys()
            found[node.lineno] = _chain(node)
    return {line: chain for line, chain in found.items() if chain.methods and line not in several}


def _chain(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> _Chain:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or isinstance(node, ast.AugAssign):
        return _Chain("", ())
    return _Chain(targets[0].id, tuple(_methods(node.value)))


def _methods(value: ast.expr | None) -> Iterator[_Method]:
    """Yield the methods of an expression that are called on an unnamed value."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not _is_path(value.func.value):
        arguments = ", ".join(ast.unparse(each) for each in (*value.args, *value.keywords))
        yield _Method(value.func.attr, f"{value.func.attr}({arguments if len(arguments) <= LONGEST else '...'})")
        value = value.func.value


def _is_path(value: ast.expr) -> bool:
    """Return whether an expression is a name or a dotted name: ``torch``, ``self.net``."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)

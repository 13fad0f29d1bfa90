"""Tensors in diagnoses: their variables, makers, shared memory, and the reason why they require grad."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, made_by, made_on, on_line, result_of
from dispatchviz.explain.trace_index.derived_names import TRANSPOSED, derived
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.trace_index import index

FARTHEST = 100
"""The number of nested views that are followed."""

MOST = 10_000
"""The number of Nodes of a graph that are read."""

NAME = re.compile(r"[A-Za-z_][\w.]*(?:\[\w+\])?")


class Written(NamedTuple):
    """A call that writes to a tensor in place, or was about to."""

    call: ev.Dispatched
    tensor: int


def variable(trace: Trace, tensor: int, at: int) -> str:
    """Return the variable that names a tensor as of a step, will name it, or named it last; empty if there is none."""
    known = index(trace)
    name = known.name(tensor, at) or known.coming_name(tensor, at) or known.lost_name(tensor, at)[0]
    return known.shown(name) if name else ""


def spelled(trace: Trace, name: str, seq: int) -> str:
    """Return a name as the line of a step spells it: ``self.h`` for ``model.h``."""
    line = source_line(trace, seq)
    own = f"self.{name.rpartition('.')[2]}"
    return own if "." in name and line is not None and own in source_text(trace, line) else name


def called(trace: Trace, tensor: int, at: int) -> str:
    """Return a tensor in words: ``w``, ``D.2.weight.T``, ``a view of w``, ``the result of mul on line 4``."""
    if name := variable(trace, tensor, at):
        return name
    call = made_by(trace, tensor)
    if call is None:
        return made_on(trace, tensor) or "a tensor"
    base = viewed(trace, tensor)
    if base is not None and (name := variable(trace, base, at)):
        return f"{name}.T" if derived(trace, tensor) == (base, TRANSPOSED) else f"a view of {name}"
    return result_of(trace, call)


def viewed(trace: Trace, tensor: int) -> int | None:
    """Return the argument on the same memory from which a call made this view."""
    made, call = index(trace).tensors.get(tensor), made_by(trace, tensor)
    if made is None or call is None or made.storage < 0:
        return None
    same = (each for each in arguments_of(trace, call) if on_memory(trace, each) == made.storage)
    return next((each for each in same if each != tensor), None)


def views_back(trace: Trace, tensor: int, detached: bool = False) -> list[int]:
    """Return a tensor, its base, the base of that, and so on, as far as the recording shows them.

    With ``detached``, also through ``detach()``, which shares the memory and the version counter.
    """
    found = [tensor]
    while len(found) < FARTHEST and (base := viewed(trace, found[-1])) is not None and base not in found:
        call = made_by(trace, found[-1])
        if not detached and call is not None and base_name(call) in ("detach", "alias", "lift_fresh"):
            break
        found.append(base)
    return found


def on_memory(trace: Trace, tensor: int) -> int:
    """Return the number of the memory that a tensor was made on; -1 if it has none."""
    made = index(trace).tensors.get(tensor)
    return -1 if made is None else made.storage


def with_line(trace: Trace, tensor: int, at: int) -> str:
    """Return a tensor with the line that made it: ``w (line 2)``."""
    name, made = called(trace, tensor, at), index(trace).tensors.get(tensor)
    where = on_line(trace, made.seq, text=False) if made is not None and made.how == "new" else ""
    return f"{name} ({where})" if where and where not in name else name


def node_made(trace: Trace, node: int, at: int) -> str:
    """Return a Node with its line: ``TanhBackward0 (n3), made on line 5``."""
    made = index(trace).nodes.get(node)
    where = on_line(trace, made.seq, text=False) if made is not None else ""
    return f"{node_title(trace, node, at)}{f', made on {where}' if where else ''}"


def shape_of(trace: Trace, tensor: int, at: int) -> tuple[int, ...]:
    """Return the sizes of a tensor as of a step."""
    return index(trace).shape(tensor, at) or ()


def steps_of_node(trace: Trace, node: int, *kinds: type[ev.Event]) -> list[int]:
    """Return the steps of some kinds about a Node, in order."""
    columns, codes = trace.columns, {trace.columns.code(kind) for kind in kinds}
    return [step for step in columns.of_node.get(node, ()) if columns.kinds[step] in codes]


# -- tensors of a line -------------------------------------------------------------------------------------------------


def line_text(failure: Failure) -> str:
    """Return the line that raised, without its comment."""
    line = failure.line
    return "" if line is None else text_on_line(failure.trace, line.seq)


def text_on_line(trace: Trace, seq: int) -> str:
    """Return the text of a step's line, without its comment."""
    line = source_line(trace, seq)
    return "" if line is None else source_text(trace, line).partition("  #")[0].strip()


def named_on_line(failure: Failure) -> Iterator[tuple[str, int]]:
    """Yield the variables of the line that raised that name tensors, in order: name and tensor."""
    seen = set[str]()
    for found in NAME.finditer(line_text(failure)):
        for name in _prefixes(found[0]):
            if name not in seen and (held := index(failure.trace).holder(name, failure.raised)) is not None:
                seen.add(name)
                yield name, held
                break


def _prefixes(path: str) -> Iterator[str]:
    """Yield a path and its prefixes: ``a.b.c``, ``a.b``, ``a``."""
    while path:
        yield path
        path = path.rpartition(".")[0]


# -- tensors that require grad -----------------------------------------------------------------------------------------


def needs_grad(trace: Trace, tensor: int, at: int) -> bool:
    """Return whether a tensor is known to require grad as of a step, by a history, an AccumulateGrad or the flag."""
    known = index(trace)
    return known.grad_needed(tensor, at) or bool(known.history(tensor, at) is not None or is_leaf(trace, tensor))


def is_leaf(trace: Trace, tensor: int) -> bool:
    """Return whether a Node was made that accumulates the gradient of a tensor."""
    return bool(index(trace).steps_about(tensor, ev.AccumulatorMade))


def leaves_behind(trace: Trace, tensor: int, at: int) -> list[int]:
    """Return the leaves that require grad from which a tensor was computed: those to which its Nodes lead."""
    known, start = index(trace), index(trace).history(tensor, at)
    nodes = reachable(trace, [] if start is None else [start])
    return sorted(known.accumulators[node].tensor for node in nodes if node in known.accumulators)


def reachable(trace: Trace, roots: list[int]) -> list[int]:
    """Return the Nodes that are reachable from some Nodes, including those. Of very many, the first ones."""
    known, found = index(trace), dict.fromkeys(roots)
    front = list(found)
    while front and len(found) < MOST:
        edges = known.edges.get(front.pop())
        new = [edge[0] for edge in (() if edges is None else edges.edges) if edge is not None and edge[0] not in found]
        found.update(dict.fromkeys(new))
        front += new
    return list(found)

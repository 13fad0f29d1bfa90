"""The steps that involve something with a name, from the columns of a trace: a line, a key, an operator, a Node, a
variable, a kind of event. Each list is in order. The names are those of the trace.

Elsewhere: the names that a reader may type for them (``breakpoints/typed_breakpoints.py``, ``search_fields.py``).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import Place
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.trace_index import index

if TYPE_CHECKING:
    from numpy.typing import NDArray

Steps = Sequence[int]


def kinds(trace: Trace) -> list[str]:
    """The kinds of events that happen."""
    columns = trace.columns
    return [columns.kind_names[code] for code in columns.of_kind]


def of_kind(trace: Trace, kind: str) -> Steps:
    """The steps of a kind."""
    columns = trace.columns
    return columns.of_kind.get(columns.kind_names.index(kind), ()) if kind in columns.kind_names else ()


def keys(trace: Trace) -> list[str]:
    """The keys that calls were dispatched to, in the order of the first such call."""
    return list(dict.fromkeys(key for _, key, _ in trace.columns.calls()))


def of_key(trace: Trace, key: str) -> Steps:
    """The calls that were dispatched to a key."""
    return in_order(steps for _, each, steps in trace.columns.calls() if each == key)


def operators(trace: Trace) -> list[str]:
    """The operators that were called, with their overloads, in the order of their first calls."""
    return list(dict.fromkeys(operator for operator, _, _ in trace.columns.calls()))


def of_operator(trace: Trace, name: str) -> Steps:
    """The calls of an operator; without an overload, of each."""
    return in_order(steps for operator, _, steps in trace.columns.calls() if name in (operator, base(operator)))


def base(operator: str) -> str:
    """``aten::add`` of ``aten::add.Tensor``."""
    return operator.partition(".")[0]


# -- lines -------------------------------------------------------------------------------------------------------------


def line_starts(trace: Trace) -> Iterator[tuple[int, Place]]:
    """Yield the steps at which lines are reached, each with its place. A return to a line does not count."""
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    if len(columns.places) == len(steps):
        texts = columns.line_places
        placed: Iterable[tuple[int, Place]] = zip(steps, map(texts.__getitem__, columns.places), strict=True)
    else:  # an earlier version wrote the file
        lines = (event for event in map(trace.__getitem__, steps) if isinstance(event, ev.SourceLine))
        placed = (
            (event.seq, Place(event.file, event.line, event.function, event.resumed, event.begins)) for event in lines
        )
    return ((step, place) for step, place in placed if not place.resumed)


def ran(trace: Trace) -> dict[str, set[int]]:
    """The files with lines that ran, each with those lines."""
    found: dict[str, set[int]] = {}
    for place in trace.columns.line_places or (place for _, place in line_starts(trace)):
        found.setdefault(place.file, set()).add(place.line)
    return found


def of_line(trace: Trace, file: str, line: int) -> Steps:
    """The steps at which a line of a file is reached."""
    return array("i", (step for step, place in line_starts(trace) if place.line == line and place.file == file))


# -- variables and Nodes -----------------------------------------------------------------------------------------------


def variables(trace: Trace) -> list[str]:
    """The names that the program binds tensors to."""
    return _names(trace, ev.NameBound)


def of_variable(trace: Trace, name: str) -> Steps:
    """The steps that bind a variable, and those that write in place to the tensor that it then refers to."""
    known, columns = index(trace), trace.columns
    bound = known.holders.get(name, ())
    tensors = {columns.tensors[step] for step in getattr(bound, "steps", ())}
    written = (step for tensor in tensors for step in known.steps_about(tensor, ev.VersionBumped))
    named = (step for step in written if known.holder(name, step) == columns.tensors[step])
    return array("i", sorted((*getattr(bound, "steps", ()), *named)))


def nodes(trace: Trace) -> list[str]:
    """The names of Nodes as texts show them, without namespaces."""
    return list(dict.fromkeys(map(plain_node, _names(trace, ev.NodeCreated))))


def of_node(trace: Trace, name: str) -> Steps:
    """The steps at which a Node with a name is created, and at which the engine runs it."""
    import numpy as np

    numbers, columns = nodes_named(trace, (name,)), trace.columns
    steps = [_array(trace.steps_of(kind)) for kind in (ev.NodeCreated, ev.NodeStarted)]
    of_nodes = _array(columns.nodes)
    found = np.concatenate([each[np.isin(of_nodes[each], numbers)] for each in steps])
    return array("i", np.sort(found).tolist())


def nodes_named(trace: Trace, names: Collection[str]) -> NDArray[Any]:
    """The numbers of the Nodes with one of some names."""
    import numpy as np

    columns = trace.columns
    wanted = [number for number, text in enumerate(columns.name_texts) if plain_node(text) in names]
    created = _array(trace.steps_of(ev.NodeCreated))
    named = created[np.isin(_array(columns.names)[created], wanted)]
    return np.take(_array(columns.nodes), named)


def _names(trace: Trace, kind: type[ev.Event]) -> list[str]:
    import numpy as np

    columns = trace.columns
    found, first = np.unique(_array(columns.names)[_array(trace.steps_of(kind))], return_index=True)
    return [columns.name_texts[number] for number in found[np.argsort(first)].tolist() if number >= 0]


def _array(column: Steps) -> NDArray[Any]:
    import numpy as np

    return np.asarray(column) if len(column) else np.zeros(0, np.int64)


def in_order(runs: Iterable[Steps]) -> Steps:
    """Merge lists of steps that have no step in common."""
    lists = list(runs)
    return lists[0] if len(lists) == 1 else array("i", sorted(chain.from_iterable(lists)))

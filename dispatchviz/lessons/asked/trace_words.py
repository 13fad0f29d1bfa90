"""The functions over the trace that an answer may call. They see the trace up to the end of the stop's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.display_names import plain_node, tensor_name
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.lessons.stops import step_named, steps_named


class _Empty:
    """The end of an empty edge."""

    def __repr__(self) -> str:
        return "empty"


EMPTY = _Empty()
KNOWN = {"empty": EMPTY}
"""Names that are no functions. A variable of the program may replace them."""


UNNAMED = "unnamed"
"""The name of a tensor that no variable of the program has named so far."""

_NUMBER = re.compile(r"(^| \()t\d+\)?$")


class TraceWordError(DispatchvizError):
    """A function over the trace that has no value."""


@dataclass(frozen=True)
class TracedNode:
    """A Node of the backward graph, as an answer sees it."""

    name: str
    number: int
    sequence_nr: int
    ran: int
    """The number of times that the engine ran it."""
    saved: tuple[str, ...]
    """The program's names of the tensors that it saved: ``w``, ``earlier x``, ``w.T``, ``unnamed``."""
    members: tuple[str, ...]
    """The names of the members that hold these tensors, in the same order: ``self``, ``other``, ``result``."""
    _words: TraceWords = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.name

    @property
    def next(self) -> tuple[TracedNode | _Empty, ...]:
        """The Nodes that its edges lead to."""
        return self._words.targets(self.number)


class TraceWords:
    """The functions over a trace, as of a step."""

    def __init__(self, trace: Trace, end: int) -> None:
        """``end`` is the last step that the functions see."""
        self._trace, self._end = trace, end
        self._nodes: dict[int, TracedNode] = {}
        """The Nodes that an answer has seen, by number: one object for each, as in PyTorch, so that ``is`` is right."""

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by their names in expressions."""
        return {
            "node": self.node,
            "happens": self.happens,
            "count": self.count,
            "step": self.step,
            "key": self.key,
            "keys": self.keys,
            "printed": self.printed,
        }

    def node(self, name: str) -> TracedNode:
        """Return a Node by its name or by a stop that creates one; of several with one name the latest."""
        plain = _written(name).isidentifier()
        steps = self._steps(f"Node {name}") if plain else [step_named(self._trace, name)]
        if not (before := [step for step in steps if step <= self._end]):
            names = dict.fromkeys(plain_node(event.name) for event in self._events(ev.NodeCreated))
            raise TraceWordError(f"there is no Node {name} yet; the Nodes so far are {', '.join(names) or 'none'}")
        event = self._trace[before[-1]]
        if not isinstance(event, ev.NodeCreated | ev.AccumulatorMade):
            raise TraceWordError(f'node({name!r}) names no Node; write node("MulBackward0") or node("z\'s Node")')
        return self._node(event.node)

    def happens(self, stop: str) -> bool:
        """Return whether a step happens, up to here."""
        return self.count(stop) > 0

    def count(self, stop: str) -> int:
        """Return how many times a step happens, up to here."""
        return sum(step <= self._end for step in self._steps(stop))

    def step(self, stop: str) -> int:
        """Return the number of a step, to compare it with another one."""
        found = step_named(self._trace, _written(stop))
        if found > self._end:
            raise TraceWordError(f"{stop!r} does not happen before the end of this line")
        return found

    def key(self, stop: str) -> str:
        """Return the key that a call or a redispatch goes to."""
        event = self._trace[self.step(stop)]
        if not isinstance(event, ev.Dispatched):
            raise TraceWordError(f'key({stop!r}) names no call; write key("call add") or key("redispatch add")')
        return event.key

    def keys(self, stop: str) -> list[str]:
        """Return the keys that a call or a redispatch has after the mask, highest first."""
        event, card = self._trace[self.step(stop)], key_set_card(self._trace, self.step(stop))
        if card is None or not isinstance(event, ev.Dispatched):
            raise TraceWordError(f'keys({stop!r}) names no call; write keys("call add") or keys("redispatch add")')
        return [column.name for column in card.columns if not column.backend and column.bit & event.key_set]

    def printed(self) -> str:
        """Return the text that the program has printed."""
        steps = (step for step in self._trace.steps_of(ev.Printed) if step <= self._end)
        return "".join(event.text for event in map(self._trace.__getitem__, steps) if isinstance(event, ev.Printed))

    def targets(self, node: int) -> tuple[TracedNode | _Empty, ...]:
        """Return the Nodes that the edges of a Node lead to."""
        edges = history(self._trace).edges(node, self._end)
        return tuple(EMPTY if end is None else self._node(end[0]) for end in (edges.edges if edges else ()))

    def _steps(self, stop: str) -> list[int]:
        return steps_named(self._trace, _written(stop))

    def _node(self, node: int) -> TracedNode:
        if node not in self._nodes:
            self._nodes[node] = self._made(node)
        return self._nodes[node]

    def _made(self, node: int) -> TracedNode:
        made = index(self._trace).nodes[node]
        ran = sum(event.node == node for event in self._events(ev.NodeStarted))
        saved = [event for event in self._events(ev.VariableSaved) if event.node == node and event.tensor is not None]
        tensors, members = tuple(self._tensor(event.tensor) for event in saved), tuple(event.name for event in saved)
        return TracedNode(plain_node(made.name), node, made.sequence_nr, ran, tensors, members, self)

    def _tensor(self, tensor: int) -> str:
        """Return the program's name of a tensor, without the number that it has in the trace."""
        if index(self._trace).coming_name(tensor, self._end):
            return UNNAMED
        return _NUMBER.sub("", tensor_name(self._trace, tensor, self._end)) or UNNAMED

    def _events(self, kind: type[Any]) -> list[Any]:
        return [self._trace[step] for step in self._trace.steps_of(kind) if step <= self._end]


def _written(name: object) -> str:
    """Return a name. Raise TraceWordError if an answer passes another value."""
    if not isinstance(name, str):
        raise TraceWordError(
            'the functions over the trace take a name in quotes: node("AddBackward0"), count("call add")'
        )
    return name

"""The functions that make the labels of a subject, by the kind of event that each is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

WIDTH = 60
"""Free text (source lines, messages, values) is cut at this length."""

E = TypeVar("E", bound=ev.AnyEvent)
Label = Callable[[Trace, E], str]


class Labels(dict[type[ev.Event], Callable[[Trace, Any], str]]):
    """Kind of event to the function that makes its label."""

    def of(self, kind: type[E]) -> Callable[[Label[E]], Label[E]]:
        """Decorates the function for a kind."""

        def known(function: Label[E]) -> Label[E]:
            self[kind] = function
            return function

        return known

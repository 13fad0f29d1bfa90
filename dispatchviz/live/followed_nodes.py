"""The backward of the Nodes that a recorded part of a program made. Nothing else of that backward is recorded.

A pre hook on each of these Nodes begins to record. Recording ends at the first call of another Node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder
from dispatchviz.live.looking import NODE

if TYPE_CHECKING:
    from dispatchviz.live.engine_watch import EngineWatch, Pass
    from dispatchviz.live.live_recorder import LiveRecorder

FOLLOWED = object()
"""The key of our hook in a Node's dictionary of hooks."""


class _Backward:
    """A backward that is not recorded as a whole: its arguments, and its pass once a Node of it is recorded."""

    def __init__(self, roots: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.roots, self.args, self.kwargs = roots, args, kwargs
        self.work: Pass | None = None


class FollowedNodes:
    """The Nodes that parts made, while the engine evaluates them."""

    def __init__(self, watch: LiveRecorder, engine: EngineWatch) -> None:
        self._watch, self._engine = watch, engine
        self._backward: _Backward | None = None
        self.number = -1
        """The serial number of the Node that is evaluated."""

    def run(
        self, original: Callable[..., Any], roots: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a backward, of which only followed Nodes are recorded."""
        thread = self._watch.thread
        outer, before = self._backward, (thread.evaluation, thread.run, thread.work)
        self._backward = backward = _Backward(roots, args, kwargs)
        finished = False
        try:
            result = original(roots, *args, **kwargs)
            finished = True
            return result
        finally:
            self._backward = outer
            if backward.work is not None:
                self._watch.guarded(lambda: self._over(backward, finished))
                thread.evaluation, thread.run, thread.work = before

    def _over(self, backward: _Backward, finished: bool) -> None:
        looking, work = self._watch.looking, backward.work
        assert looking is not None
        assert work is not None
        if not looking.is_open and not looking.open(NODE, _getframe(1), goes_on=True):
            return
        self._engine.close(self._watch.thread)
        self._engine.ends_followed(work, finished)
        looking.close(NODE)

    def starts(
        self, number: int, name: str, sequence_nr: int, leaf: Any, key: object, gradients: tuple[Any, ...]
    ) -> None:
        """Record that a Node is about to be evaluated. This is the Node's pre hook."""
        watch, looking, backward = self._watch, self._watch.looking, self._backward
        if looking is None or backward is None or not watch.thread.watched:
            return
        if looking.is_in_node:
            looking.goes_on()
        else:
            if recorder.suspended is not watch:
                return  # the whole backward is recorded, or nothing more
            if not looking.open(NODE, _getframe(1), goes_on=backward.work is not None):
                return
        watch.guarded(lambda: self._starts(backward, number, name, sequence_nr, leaf, gradients))

    def _starts(
        self, backward: _Backward, number: int, name: str, sequence_nr: int, leaf: Any, gradients: tuple[Any, ...]
    ) -> None:
        if backward.work is None:
            backward.work = self._engine.begins_followed(backward.roots, backward.args, backward.kwargs)
        self.number = number
        self._engine.starts(number, name, sequence_nr, leaf, backward.work, gradients)

    def pauses(self) -> None:
        """End recording until another followed Node is evaluated."""
        if self._watch.looking is not None:
            self._watch.looking.close(NODE)

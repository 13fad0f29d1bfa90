"""The switch of a recording of a part (``--only``): an installed PyTorch is watched only while the part runs.

One kind of condition opens the part: a call of a module, a line, an operator, a call by its number, an iteration. The
filter of events (``core/record/event_filter.py``) then checks the other kinds. Conditions for which a whole recording
is needed (steps) open nothing here: everything is recorded and filtered, as on the model.

Not here: what is put into dispatch table entries meanwhile (``watched_parts.py``), names of older tensors
(``earlier_names.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record.event_filter import no_call, no_iteration, no_module
from dispatchviz.core.seam import recorder
from dispatchviz.live.module_paths import ModulePaths
from dispatchviz.live.part_plan import Plan
from dispatchviz.running.recorded_part import Gate

if TYPE_CHECKING:
    from types import FrameType

    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_cells import Step

ITERATION, NODE = "iteration", "Node"
"""The openers of an iteration and of a Node that the part made. A line is opened by the ``id`` of its frame, a module
by itself, a call by an object of its own.
"""


class Looking:
    """The part of a program that is recorded, and whether it runs now."""

    def __init__(self, watch: LiveRecorder, plan: Plan, gate: Gate) -> None:
        self._watch, self.plan, self.gate = watch, plan, gate
        self._opener: object = None
        self._modules = 0
        """The number of calls of modules around the part, which were reported when it began."""
        self.paths = ModulePaths(plan.only.module)
        self._in_call = False
        """True while a call runs that was counted, whose inner calls are not."""
        self.calls = 0
        """The number of counted calls so far."""
        self._last_call = max([last for _, last in plan.only.call], default=0)
        self.parts = 0
        """The number of times that the part has run."""

    @property
    def follows_nodes(self) -> bool:
        """True if the backward of Nodes that the part makes belongs to it."""
        return self.plan.opener == "module" and self._opener is not NODE

    @property
    def is_in_node(self) -> bool:
        """True while a Node that the part made is evaluated."""
        return self._opener is NODE

    @property
    def is_open(self) -> bool:
        """True while the part runs."""
        return self._opener is not None

    def missed(self, most: Mapping[int, int]) -> str:
        """Return the remark that the part never ran. ``most`` has the number of iterations of each loop by line."""
        only = self.plan.only
        if self.plan.opener == "module":
            return no_module(only, tuple(self.paths.met))
        if only.call:
            return no_call(only, self.calls)
        if only.iteration:
            return no_iteration(only, most)
        if self.plan.opener == "op":
            return f"no call of {' or '.join(only.op)}"
        return f"nothing happened on {' or '.join(text for text in only.texts if text.startswith('line='))}"

    # -- what opens it ------------------------------------------------------------------------------------------------

    def opens_for(self, module: Any) -> bool:
        """Open the part if a selected module is about to be called."""
        if self.plan.opener != "module":
            return False
        frame = _getframe(2)
        return self.paths.selects(module, frame) and self.open(module, frame)

    def line(self, frame: FrameType) -> None:
        """Open the part at a selected line."""
        self.open(id(frame), frame)

    def leaves_line(self, frame: FrameType) -> None:
        """Close the part if a line of this frame opened it."""
        self.close(id(frame))

    def iterations_changed(self, inside: bool) -> None:
        """Open or close the part because selected iterations begin or end."""
        if self.plan.opener == ITERATION:
            self.open(ITERATION, _getframe(1)) if inside else self.close(ITERATION)
        elif not inside:
            self.close(self._opener)

    def kernel(self, step: Step) -> Step:
        """Return a kernel that opens the part while it runs, for an operator that opens it."""

        def opens(*args: Any, **kwargs: Any) -> Any:
            if self._in_call or self.is_open or recorder.suspended is not self._watch:
                return step(*args, **kwargs)
            return self.any_call(lambda: step(*args, **kwargs))

        return opens

    def any_call(self, forward: Callable[[], Any]) -> Any:
        """Return the result of a call that is within no other call, which is recorded if its number is selected."""
        own = object()
        opened = self._counts() and self.open(own, _getframe(1))
        self._in_call = True
        try:
            return forward()
        finally:
            self._in_call = False
            if opened:
                self.close(own)
            self._end_counting()

    @property
    def counts_calls(self) -> bool:
        """True while the calls are counted to find a selected one."""
        return self.plan.opener == "call" and self.calls < self._last_call

    def _counts(self) -> bool:
        """Count a call. Return whether it is selected."""
        if not self.plan.only.call:
            return True
        self.calls += 1
        return any(first <= self.calls <= last for first, last in self.plan.only.call)

    def _end_counting(self) -> None:
        """Watch nothing more once the last selected call is over."""
        if self.plan.only.call and self.calls >= self._last_call:
            self._watch.cells.end_waiting()

    # -- opening and closing ------------------------------------------------------------------------------------------

    def open(self, opener: object, frame: FrameType, goes_on: bool = False) -> bool:
        """Begin to record, unless this is so already. Return whether it begins. ``goes_on`` is True for another Node of
        a backward.
        """
        watch = self._watch
        if self.is_open or not watch.thread.watched or watch.cells.is_apart:
            return False
        if self.plan.only.iteration and not watch.iterations.inside:
            return False
        if not recorder.resume(watch):
            return False
        self._opener = opener
        self.parts += 1
        self.gate.open = True
        if goes_on:
            watch.thread.newest = watch.nodes.part_begins()
        else:
            watch.guarded(lambda: self._begin(frame))
        watch.cells.look()
        return True

    def goes_on(self) -> None:
        """Go on with another Node. The engine restores the thread-local sets for each Node (``ThreadLocalStateGuard``
        in ``Engine::thread_main``).
        """
        self._watch.cells.look_again()

    def _begin(self, frame: FrameType) -> None:
        watch = self._watch
        watch.part_begins(frame)
        self._modules = watch.modules_around(frame)

    def close(self, opener: object) -> None:
        """End recording, if the same opener began it."""
        watch = self._watch
        if opener is None or (self._opener is not opener and self._opener != opener):
            return
        self._opener = None
        self.gate.open = False
        watch.cells.look_away()
        if recorder.listening is watch:
            watch.part_ends(self._modules)
            recorder.suspend(watch)

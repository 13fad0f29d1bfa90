"""The recorder of a part of a program (``--only``): what begins and ends with the part.

Not here: when the part runs (``looking.py``), what is put into dispatch table entries meanwhile (``watched_parts.py``).
"""

from __future__ import annotations

from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import EventFilter
from dispatchviz.core.seam import recorder
from dispatchviz.live.thread_states import ThreadRecorder
from dispatchviz.running.call_sites import is_base, user_locations

if TYPE_CHECKING:
    from dispatchviz.core.record.event_filter import Only
    from dispatchviz.live.earlier_names import EarlierNames
    from dispatchviz.live.looking import Looking
    from dispatchviz.live.node_watch import NodeWatch


class PartWatch(ThreadRecorder):
    """The recorder's methods for a part."""

    nodes: NodeWatch
    earlier: EarlierNames
    _module_calls: set[CodeType]

    looking: Looking | None = None
    """The switch of a recording of a part; None if everything is recorded."""

    def chosen(self, only: Only | None, /) -> EventFilter | None:
        """Return the filter of the recorded events, for the conditions that do not open the part."""
        return super().chosen(only if self.looking is None or only is None else self.looking.plan.filtered)

    def missed(self, only: Only, chosen: EventFilter | None, /) -> tuple[str, ...]:
        """Return a remark for each condition that selected nothing."""
        if self.looking is None:
            return super().missed(only, chosen)
        if not self.looking.parts:
            return (self.looking.missed(self.iterations.most),)
        return () if chosen is None else tuple(chosen.seen.remarks(self.looking.plan.filtered))

    def line_selected(self, /) -> None:
        """Begin to record at a selected line."""
        if self.looking is not None:
            self.looking.line(_getframe(2))

    def line_not_selected(self, /) -> None:
        """End recording at another line of the frame whose selected line began it."""
        if self.looking is not None:
            self.looking.leaves_line(_getframe(2))

    def left(self, frame: FrameType, /) -> None:
        """Note that a frame is about to end or wait, which also ends its selected line."""
        super().left(frame)
        if self.looking is not None:
            self.looking.leaves_line(frame)

    def selection_changed(self, inside: bool, /) -> None:
        """Note that the selected iterations begin or end."""
        if self.looking is None:
            super().selection_changed(inside)
        else:
            self.looking.iterations_changed(inside)

    def part_begins(self, frame: FrameType, /) -> None:
        """Note that recording begins at a frame, after a part of the program that was not recorded."""
        self._forget_frames()
        thread = self.thread
        thread.newest, thread.numbers = self.nodes.part_begins(), {}
        self.note(("part_begins",))
        self.earlier.look(frame)

    def modules_around(self, frame: FrameType, /) -> int:
        """Note the calls of modules around a frame. Return how many there are."""
        inner: FrameType | None = frame
        found: list[FrameType] = []
        while inner is not None and not is_base(inner, self.base):
            found += [inner] if inner.f_code in self._module_calls else []
            inner = inner.f_back
        for one in reversed(found):
            self.note(("frame_resumed", user_locations(one, self.base)))
            module = one.f_locals["self"]
            self._emit_span(ev.ModuleCalled, self.module_name(module), type(module).__name__)
        self._top = 0
        return len(found)

    def module_name(self, module: Any, /) -> str:
        """Return the path of a module, as the program's variables give it."""
        name = super().module_name(module)
        if name or self.looking is None:
            return name
        return self.earlier.module_name(module) or self.looking.paths.path(module)

    def part_ends(self, modules: int, /) -> None:
        """Note that recording ends, within that many calls of modules."""
        for _ in range(modules):
            self.module_left(False)
        self.earlier.forget()

    def wrote(self, text: str) -> None:
        """Record output, unless a part runs that is not recorded."""
        if recorder.suspended is not self:
            super().wrote(text)

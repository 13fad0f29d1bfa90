"""The program's line of each call, and the names that its functions give to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from dispatchviz.live import kernel_steps
from dispatchviz.live.tensor_numbers import WeakNumbers
from dispatchviz.live.thread_states import ThreadRecorder
from dispatchviz.running.call_sites import Way, is_base, is_users, same_way, scope_of
from dispatchviz.running.held_tensors import HOLDS_NOTHING, is_module, is_tensor
from dispatchviz.running.user_lines import ProgramEventBuilder

if TYPE_CHECKING:
    from dispatchviz.core.record.note_types import Arrival, Note

OTHER, USERS, ANNOUNCED = 0, 1, 2
"""The owner of a frame's code: another's, the user's, or the user's with lines that are announced."""


class LineWatch(ThreadRecorder):
    """The recorder's methods for lines."""

    live_tensors: WeakNumbers

    def __init__(self, builder: ProgramEventBuilder) -> None:
        super().__init__(builder)
        self._arrivals: dict[tuple[int, int], tuple[Way, Arrival]] = {}
        """The way by which a function of the program was called, and the note for it, by code object and
        instruction.
        """
        self._announces: dict[int, int] = {}
        """The owner of the code, by the ``id`` of a code object, which ``_codes`` keeps alive."""

    def line_calls(self, frames: int = 4, /) -> Note | None:
        """Note that the program's line makes a call: its first kernel is about to run, or the engine. Return the note,
        which holds until the line ends.

        ``frames`` is the number of frames of this package on the stack.
        """
        return self._line_calls(_getframe(frames))

    def _line_calls(self, frame: FrameType | None, arguments: Sequence[object] = ()) -> Note | None:
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        while frame is not None:
            code = frame.f_code
            announced = self._announces.get(id(code))
            if announced is None:
                announced = self._announces[id(code)] = self._announcing(code)
            if announced == ANNOUNCED and self._top == id(frame):
                note: Note = ("called_from_line", code, frame.f_lasti)
                self.note(note)
                return note
            if announced != OTHER:
                note = self._line_calls_anew(frame, announced)
                if announced == USERS:
                    self._name_held(frame, arguments)
                return note
            if is_base(frame, self.base):
                return None
            frame = frame.f_back
        return None

    def _line_calls_anew(self, frame: FrameType, announced: int) -> Note:
        """Note a call from another frame than last time, or from one that does not announce its lines."""
        place = id(frame.f_code), frame.f_lasti
        known = self._arrivals.get(place)
        if announced == USERS and known is not None and same_way(frame, known[0]):
            self._top, self._top_code = id(frame), frame.f_code
            self.note(known[1])
            return known[1]
        note = self._arrival(frame)
        self._arrivals[place] = self._found_way, note
        self.note(note)
        return note if announced == USERS else ("called_from_line", frame.f_code, frame.f_lasti)

    def _name_held(self, frame: FrameType, arguments: Sequence[object]) -> None:
        """Note the names of tensors and modules in a frame that does not report them. A module that is being made gets
        more parameters later, which nothing reports.
        """
        scope, names = scope_of(frame.f_code), self.names
        if names.changed:
            names.look_again()
        is_made = frame.f_code.co_name == "__init__"
        for name, value in list(frame.f_locals.items()):
            if type(value) in HOLDS_NOTHING:
                continue
            if not is_tensor(value):
                if not is_made and is_module(value):
                    names.bind(scope, name, value)
            elif not names.holds((scope, name), value) and (
                self.live_tensors.get(value) >= self.first_tensor or any(value is one for one in arguments)
            ):
                names.bind(scope, name, value)

    def _announcing(self, code: CodeType) -> int:
        self._codes.append(code)
        return OTHER if not is_users(code) else ANNOUNCED if code.co_filename in self.announced else USERS

    def _python_calls(self, frame: FrameType | None, args: tuple[Any, ...]) -> None:
        """Note the program's line in a Python kernel that makes a call, unless the file announces its lines."""
        while frame is not None and frame.f_code.co_filename != kernel_steps.__file__:
            if is_users(frame.f_code):
                if frame.f_code.co_filename not in self.announced:
                    self._line_calls(frame, args)
                return
            frame = frame.f_back

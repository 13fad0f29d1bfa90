"""The recorder of the program itself: lines, variables, output, exceptions, and the Python bindings that it calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase, text_of

if TYPE_CHECKING:
    from types import FrameType

    from dispatchviz.core.bindings.binding import Binding, Plan
    from dispatchviz.core.tensor.tensor import Tensor


class PythonRecorder(RecorderBase):
    """The recorder's methods for the program and the bindings that it calls."""

    def source_line(self, file: str, line: int) -> None:
        """Record that a line of the program begins. At the top it stays open until the next line."""
        self._last_error = None
        self.note(("source_line", file, line, "", None, False, False))

    def name_bound(self, name: str, tensor: Tensor, turn: int = 0, /) -> None:
        """Record that a variable of the program names a tensor."""
        self.note(("name_bound", name, self._serial(tensor), turn))

    def name_unbound(self, name: str, tensor: int, /) -> None:
        """Record that a variable of the program no longer names a tensor, given by its number, since it may be gone."""
        self.note(("name_unbound", name, tensor))

    def module_changed(self, module: Any, /) -> None:
        """Note that a module of the program has other members, for a recorder of their names."""

    def wrote(self, text: str) -> None:
        """Record output to the program's standard output, in pieces that end where a line of output ends or another
        line of the program begins.
        """
        self.note(("wrote", text))

    def tensor_formatted(self, tensor: Tensor, function: ev.FormattingMethod) -> None:
        """Open the event of a tensor that is formatted."""
        self._emit_span(ev.TensorFormatted, self._tensor(tensor), function)

    def module_called(self, module: Any, /) -> FrameType | None:
        """Open the event of a call of a module. Return the user's frame, for a recorder that looks for it."""
        self._emit_span(ev.ModuleCalled, self.module_name(module), type(module).__name__)
        return None

    def module_name(self, module: Any, /) -> str:
        """Return the path of a module, for a recorder that knows names; else an empty text."""
        return ""

    def module_left(self, failed: bool, /) -> None:
        """Close the event of the innermost call of a module, which returned or ``failed``."""
        self.note(("module_left", failed))

    def program_raised(self, error: BaseException, file: str, line: int, traceback: str = "") -> None:
        """Record the exception of a program that failed. It is the last event."""
        self.note(("raised", type(error).__name__, text_of(error), file, line, traceback))

    def warned(self, category: str, message: str, file: str, line: int) -> None:
        """Record that a warning is about to be shown."""
        self._emit(ev.Warned, category, message, file, line)

    def error_raised(self, error: BaseException) -> None:
        """Record an exception where it is first seen. Further out it has passed through more frames."""
        last, frames = self._last_error, _frames(error)
        self._last_error = id(error), frames
        if last is None or last[0] != id(error) or last[1] >= frames:
            self._emit(ev.ErrorRaised, type(error).__name__, text_of(error))

    # -- bindings -----------------------------------------------------------------------------------------------------

    def binding_entered(self, binding: Binding, signature: int, values: Sequence[Any]) -> None:
        """Open the event of a Python binding. ``values`` are those of the parameters of the signature that matched."""
        self._last_error = None
        self.note(("binding_entered", binding, signature, tuple([self._value_text(value) for value in values])))

    def binding_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...], /) -> None:
        """Open the event of a Python binding that a plan runs. The arguments are tensors and plain values; the parser
        is not needed.
        """
        self._binding_called(binding, plan, args)

    def _binding_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with the serial numbers of tensors."""
        self._last_error = None
        numbered, first = list(args), self.first_tensor
        for i, is_tensor in enumerate(plan.tensors):
            if is_tensor:
                number = args[i]._number
                numbered[i] = number if number >= first else self._serial(args[i])
        serials = tuple(numbered)
        self.note(("binding_called", binding, plan, serials))
        return serials


def _frames(error: BaseException) -> int:
    """The number of frames through which an exception has passed."""
    count, traceback = 0, error.__traceback__
    while traceback is not None:
        count, traceback = count + 1, traceback.tb_next
    return count

"""Events of the program itself: lines, variables, output, exceptions, and the Python bindings that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import BuilderBase

if TYPE_CHECKING:
    from dispatchviz.core.bindings.binding import Binding, Plan


class PythonBuilder(BuilderBase):
    """The program, and the bindings that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self._written = ""
        """Text of a line of output that has not ended."""
        self._over_with_call: set[int | None] = set()
        """Bindings that are over when the call within them is."""

    def source_line(self, file: str, line: int, function: str, caller: int | None) -> None:
        """A line of the program begins; at the top it stays open until the next."""
        self.moved = False
        self.all_written()
        seq = self.open
        if seq is None or isinstance(self.events[seq], ev.SourceLine):
            self.open = None
            self._span(ev.SourceLine, file, line, function, caller)
        else:
            self._event(ev.SourceLine, file, line, function, caller)

    def name_bound(self, name: str, tensor: int) -> None:
        """A variable names a tensor."""
        self._event(ev.NameBound, name, tensor - self.first_tensor)

    def raised(self, kind: str, message: str, file: str, line: int) -> None:
        """An exception left the program: every open event but its line ends, since an interrupt is raised anywhere."""
        self.moved = False  # it stays with the line that it came from
        self.all_written()
        self.open = self._enclosing_line()
        self._event(ev.ProgramRaised, kind, message, file, line)

    def _enclosing_line(self) -> int | None:
        seq = self.open
        while seq is not None and (parent := self.events[seq].parent) is not None:
            seq = parent
        return seq

    def wrote(self, text: str) -> None:
        """The program writes to its standard output; an event when a line ends or another one of the program begins."""
        self._written += text
        if text.endswith("\n"):
            self.all_written()

    def all_written(self) -> None:
        """The event of what was written since the last."""
        text, self._written = self._written, ""
        if text:
            self._event(ev.Printed, text)

    # -- bindings -----------------------------------------------------------------------------------------------------

    def binding_entered(self, binding: Binding, signature: int, values: tuple[str, ...]) -> None:
        """A binding, with the text of the value of each parameter."""
        function, pytorch_function, signatures = binding.trace_description
        text, names, operator = signatures[signature]
        arguments = self._as_last_time(text, tuple(zip(names, values, strict=True)))
        self._span(ev.BindingEntered, function, pytorch_function, text, signature + 1, arguments, operator)

    def binding_called(self, binding: Binding, plan: Plan, arguments: tuple[Any, ...]) -> None:
        """A binding, with numbers instead of tensors, and its defaults."""
        first = self.first_tensor
        given = [f"t{a - first}" if tensor else _plain(a) for a, tensor in zip(arguments, plan.tensors, strict=True)]
        self.binding_entered(binding, plan.signature, (*given, *plan.default_texts))
        if plan.is_call:
            self._over_with_call.add(len(self.events) - 1)

    def leave_unless_over(self) -> None:
        """A binding is over if it is not yet: all it had to do was a call, and that is over."""
        if self.open in self._over_with_call:
            self._over_with_call.discard(self.open)
            self.leave()


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)

"""Events of the program itself: lines, variables, output, exceptions, and the Python bindings that it calls."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import BuilderBase, reads_note
from dispatchviz.core.record.builders.numbers import Labels
from dispatchviz.core.record.events import BindingEntered, ModuleCalled, NameBound, SourceLine

if TYPE_CHECKING:
    from dispatchviz.core.bindings.binding import Binding, Plan


class _SignatureText(Struct, frozen=True):
    """The texts that depend only on a binding and the signature that fits."""

    function: str
    pytorch_function: str
    text: str
    tried: int
    """The number of signatures that were tried."""
    names: tuple[str, ...]
    operator: str

    @classmethod
    def of(cls, binding: Binding, signature: int) -> _SignatureText:
        """Return the texts of the signature at this index."""
        function, pytorch_function, signatures = binding.trace_description
        text, names, operator = signatures[signature]
        return cls(function, pytorch_function, text, signature + 1, names, operator)


class _PlanText(Struct, frozen=True):
    """The texts of a call by a plan."""

    plan: Plan
    """The plan, kept alive because its ``id`` is the key of these texts."""
    signature: _SignatureText
    names: tuple[str, ...]
    """The names of the parameters that are given."""
    tensors: tuple[bool, ...]
    defaults: tuple[tuple[str, str], ...]
    """The names and values of the other parameters."""
    is_call: bool

    @classmethod
    def of(cls, binding: Binding, plan: Plan) -> _PlanText:
        """Return the texts of a binding's plan."""
        signature, given = _SignatureText.of(binding, plan.signature), len(plan.tensors)
        defaults = tuple(zip(signature.names[given:], plan.default_texts, strict=True))
        return cls(plan, signature, signature.names[:given], plan.tensors, defaults, plan.is_call)


class PythonBuilder(BuilderBase):
    """The builder of events of the program and the bindings that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self._labels = Labels(self.tensors)
        self._plans: dict[int, _PlanText] = {}
        """The texts by the ``id`` of a plan."""
        self._failed_on: int | None = None
        self._failed_after = -1
        """The innermost open event when a module raised, and the number of events at that moment."""
        self._written = ""
        """The text of a line of output that has not ended."""
        self._over_with_call: set[int | None] = set()
        """Bindings that end when the call within them ends."""

    def _needed_first(self) -> tuple[int | None, ...]:
        """Return the innermost open events, and that of a failed module if nothing has happened since."""
        failed = (self._failed_on,) if self._failed_after == len(self.events) else ()
        return (*super()._needed_first(), *failed)

    @reads_note
    def source_line(self, file: str, line: int, function: str, caller: int | None, resumed: bool, begins: bool) -> None:
        """Append the beginning of a line of the program. At the top it stays open until the next line."""
        self.moved = False
        if self._written:
            self.all_written()
        parent, seq = self.open, len(self.events)
        if parent is not None and type(self.events[parent]) is SourceLine:
            parent = self.events[parent].parent
        if parent is None or type(self.events[parent]) is ModuleCalled:
            self.open = seq
        self.events.append(SourceLine(seq, parent, file, line, function, caller, resumed, begins))

    @reads_note
    def module_left(self, failed: bool) -> None:
        """End the call of a module and the line of its forward. If it ``failed``, the program may end."""
        seq = self.open
        if failed and self._failed_after != len(self.events):
            self._failed_on, self._failed_after = seq, len(self.events)
        if seq is not None and type(self.events[seq]) is SourceLine:
            seq = self.events[seq].parent
        self.open = None if seq is None else self.events[seq].parent

    @reads_note
    def name_bound(self, name: str, tensor: int, turn: int) -> None:
        """Append that a variable names a tensor."""
        self.events.append(NameBound(self._next(), self.open, name, self.tensors[tensor], turn))

    @reads_note
    def name_unbound(self, name: str, tensor: int) -> None:
        """Append that a variable no longer names a tensor."""
        self._event(ev.NameUnbound, name, self.tensors[tensor])

    @reads_note
    def raised(self, kind: str, message: str, file: str, line: int, traceback: str) -> None:
        """Append an exception that left the program. Every open event except its line ends, since an interrupt is
        raised anywhere.
        """
        self.moved = False  # it stays with the line that raised it
        if self._failed_after == len(self.events):
            self.open = self._failed_on
        self.all_written()
        self.open = self._enclosing_line()
        self._event(ev.ProgramRaised, kind, message, file, line, traceback)

    def _enclosing_line(self) -> int | None:
        """Return the innermost open line that only lines and modules enclose."""
        around, seq = list[int](), self.open
        while seq is not None:
            around.append(seq)
            seq = self.events[seq].parent
        ours = takewhile(lambda seq: type(self.events[seq]) in (SourceLine, ModuleCalled), reversed(around))
        lines = [seq for seq in ours if type(self.events[seq]) is SourceLine]
        return lines[-1] if lines else None

    @reads_note
    def wrote(self, text: str) -> None:
        """Add output of the program. It becomes an event when a line of output ends or another line of the program
        begins.
        """
        self._written += text
        if text.endswith("\n"):
            self.all_written()

    @reads_note
    def all_written(self) -> None:
        """Append the event of the output since the last one."""
        text, self._written = self._written, ""
        if text:
            self._event(ev.Printed, text)

    # -- bindings -----------------------------------------------------------------------------------------------------

    @reads_note
    def binding_entered(self, binding: Binding, signature: int, values: tuple[str, ...]) -> None:
        """Append a binding, with the text of the value of each parameter."""
        text = _SignatureText.of(binding, signature)
        self._binding_entered(text, tuple(zip(text.names, values, strict=True)))

    @reads_note
    def binding_called(self, binding: Binding, plan: Plan, arguments: tuple[Any, ...]) -> None:
        """Append a binding, with numbers instead of tensors, and its defaults."""
        known = self._plans.get(id(plan))
        if known is None:
            known = self._plans[id(plan)] = _PlanText.of(binding, plan)
        labels, given = self._labels, zip(known.names, arguments, known.tensors, strict=True)
        texts = [(name, labels[value] if is_tensor else _plain(value)) for name, value, is_tensor in given]
        self._binding_entered(known.signature, (*texts, *known.defaults))
        if known.is_call:
            self._over_with_call.add(self.open)

    def _binding_entered(self, text: _SignatureText, arguments: tuple[tuple[str, str], ...]) -> None:
        arguments, seq = self._as_last_time(text.text, arguments), self._next()
        event = BindingEntered(
            seq, self.open, text.function, text.pytorch_function, text.text, text.tried, arguments, text.operator
        )
        self.events.append(event)
        self.open = seq

    @reads_note
    def leave_unless_over(self) -> None:
        """End a binding unless its call, which was all that it had to do, has ended it already."""
        if self.open in self._over_with_call:
            self._over_with_call.discard(self.open)
            self.leave()


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)

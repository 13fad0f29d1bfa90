"""Events of the program itself: its lines, its variables, its output, its end."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, LineNumber, Step, TensorNumber

FormattingMethod = Literal["Tensor.__repr__", "Tensor.__format__"]
"""The methods of Tensor that format it as text."""


class SourceLine(Container, frozen=True):
    """The program runs a line, or returns to one; open until the next one."""

    file: str
    """Name of the source file, as in the header's ``sources``."""
    line: LineNumber
    """Line number in ``file``, from 1."""
    function: str = ""
    """The function that the line is in: ``Net.forward``, ``<lambda>``; empty for the file's own top level."""
    caller: Step | None = None
    """``seq`` of the SourceLine from which ``function`` was called, or resumed; None at the bottom of the user's
    stack."""
    resumed: bool = False
    """Whether the program comes back to the line: what was called from there has returned, or a generator that waits
    there goes on."""
    begins: bool = False
    """Whether a call of ``function`` is known to begin with the line: that of a function of the program's own file
    that is no generator and no coroutine. False in traces of older versions."""


class NameBound(Event, frozen=True):
    """A variable of the program now names a tensor, or its value holds it: texts call the tensor by this name."""

    name: str
    """The variable's name: ``x``; with a path what its value holds: ``params[0]``, and ``net.blocks.0.weight``, as
    ``named_parameters`` writes it behind the variable of the outermost module."""
    tensor: TensorNumber
    """Number of the tensor."""
    turn: Count = 0
    """How many times the statement that binds the variable has run by now, if no other statement of a loop or of a
    function binds one that is called so; else 0, and in traces of older versions."""


class NameUnbound(Event, frozen=True):
    """A variable, or what its value holds, names a tensor no more: it was deleted, or is now another one's name, or
    none's."""

    name: str
    """The name, as in the NameBound."""
    tensor: TensorNumber
    """Number of the tensor that it named."""


class Printed(Event, frozen=True):
    """The program wrote to its standard output."""

    text: str
    """What it wrote, line ends included: up to the end of a line, or until another line of the program began."""


class TensorFormatted(Container, frozen=True):
    """A tensor is formatted as text, by operators like any other computation; open until the text is complete.

    ``torch/_tensor_str.py``, ``torch/_tensor.py``.
    """

    tensor: TensorNumber
    """Number of the tensor."""
    function: FormattingMethod
    """The method that was called."""


class ModuleCalled(Container, frozen=True):
    """A module is called: its hooks and its ``forward`` run; open until the call ends (``Module._call_impl``,
    ``torch/nn/modules/module.py``)."""

    name: str
    """The module's path, as ``named_modules`` writes it behind the variable of the outermost module: ``net.blocks.0``;
    empty if no variable of the program holds the module."""
    kind: str
    """Name of the module's class: ``Linear``."""


class Warned(Event, frozen=True):
    """A warning is issued: PyTorch's, a library's or the program's own. Those that a filter ignores are no events."""

    category: str
    """Name of the warning's class: ``UserWarning``; empty if PyTorch writes it to stderr by itself (``TORCH_WARN``
    outside of a call from Python)."""
    message: str
    """Its text."""
    file: str
    """Name of the file that it points to, as in the header's ``sources``; PyTorch's own if it is not Python's."""
    line: LineNumber
    """Line number in ``file``, from 1; 0 if unknown."""


class ProgramRaised(Event, frozen=True):
    """An exception left the program. Always the last event."""

    exception: str
    """Name of the exception's class: ``RuntimeError``."""
    message: str
    """``str`` of the exception."""
    file: str
    """Name of the program's own file in which it was raised, as in the header's ``sources``; empty if there is none."""
    line: LineNumber
    """Line number of the program's own line, from 1; 0 if there is none."""
    traceback: str = ""
    """What Python printed of it; empty in traces of older versions, of ``record()``, and of an interrupt."""

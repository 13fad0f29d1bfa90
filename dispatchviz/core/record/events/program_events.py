"""Events of the program itself: its lines, its variables, its output, its end."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, LineNumber, Step, TensorNumber

FormattingMethod = Literal["Tensor.__repr__", "Tensor.__format__"]
"""The methods of Tensor that format it as text."""


class SourceLine(Container, frozen=True):
    """The program runs a line, or returns to one. The event is open until the next one."""

    file: str
    """Name of the source file, as in the header's ``sources``."""
    line: LineNumber
    """Line number in ``file``, from 1."""
    function: str = ""
    """The function that has the line: ``Net.forward``, ``<lambda>``; empty for the file's top level."""
    caller: Step | None = None
    """``seq`` of the SourceLine that called or resumed ``function``; None at the bottom of the user's stack."""
    resumed: bool = False
    """True if the program returns to the line: a call made there has returned, or a generator that waits there
    continues.
    """
    begins: bool = False
    """True if a call of ``function`` is known to begin with the line. It is known for functions of the program's own
    file that are neither generators nor coroutines. False in traces of older versions.
    """


class NameBound(Event, frozen=True):
    """A variable of the program now names a tensor, or its value holds it. Texts call the tensor by this name."""

    name: str
    """The variable's name: ``x``; or a path to a tensor that its value holds: ``params[0]``, or
    ``net.blocks.0.weight``, as ``named_parameters`` writes it, after the variable of the outermost module.
    """
    tensor: TensorNumber
    """Number of the tensor."""
    turn: Count = 0
    """The number of times that the statement that binds the variable has run, if it is the only statement of a loop or
    a function that binds a variable of this name; else 0. Also 0 in traces of older versions.
    """


class NameUnbound(Event, frozen=True):
    """A variable, or a path of its value, no longer names a tensor: it was deleted, or it now names another tensor, or
    none.
    """

    name: str
    """The name, as in the NameBound."""
    tensor: TensorNumber
    """Number of the tensor that it named."""


class Printed(Event, frozen=True):
    """The program wrote to its standard output."""

    text: str
    """The text that it wrote, line ends included: up to the end of a line, or until another line of the program
    began.
    """


class TensorFormatted(Container, frozen=True):
    """A tensor is formatted as text, by operators like any other computation. The event is open until the text is
    complete.

    The code is in ``torch/_tensor_str.py`` and ``torch/_tensor.py``.
    """

    tensor: TensorNumber
    """Number of the tensor."""
    function: FormattingMethod
    """The method that was called."""


class ModuleCalled(Container, frozen=True):
    """A module is called: its hooks and its ``forward`` run. The event is open until the call ends
    (``Module._call_impl``, ``torch/nn/modules/module.py``).
    """

    name: str
    """The module's path, as ``named_modules`` writes it, after the variable of the outermost module: ``net.blocks.0``;
    empty if no variable of the program holds the module.
    """
    kind: str
    """Name of the module's class: ``Linear``."""


class Warned(Event, frozen=True):
    """A warning is issued by PyTorch, a library or the program. Warnings that a filter ignores have no event."""

    category: str
    """Name of the warning's class: ``UserWarning``; empty if PyTorch itself writes it to stderr (``TORCH_WARN`` outside
    of a call from Python).
    """
    message: str
    """The text of the warning."""
    file: str
    """Name of the file to which it points, as in the header's ``sources``; a PyTorch file if it is not a Python
    file.
    """
    line: LineNumber
    """Line number in ``file``, from 1; 0 if unknown."""


class ProgramRaised(Event, frozen=True):
    """An exception left the program. It is always the last event."""

    exception: str
    """Name of the exception's class: ``RuntimeError``."""
    message: str
    """``str`` of the exception."""
    file: str
    """Name of the program's own file in which it was raised, as in the header's ``sources``; empty if there is none."""
    line: LineNumber
    """Line number of the program's own line, from 1; 0 if there is none."""
    traceback: str = ""
    """The traceback that Python printed; empty in traces of older versions, of ``record()``, and after an interrupt."""

"""Events of ``__torch_dispatch__``: Python code that handles a call of an operator."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, KeySet, TensorNumber

TorchDispatchKind = Literal["mode", "subclass"]
"""The owner of the ``__torch_dispatch__`` that is called: the mode on top of the stack, or an argument's class."""


class TorchDispatchEntered(Container, frozen=True):
    """The Python fallback calls the ``__torch_dispatch__`` of a mode or of a tensor subclass. The event is open until
    it returns.

    The code is in ``torch/csrc/utils/python_arg_parser.cpp``. Calls that the handler makes on plain tensors do not
    reach it again.
    """

    kind: TorchDispatchKind
    """The owner of the method: a dispatch mode or a tensor subclass."""
    handler: str
    """Name of the class: ``LoggingMode``."""
    function: str
    """Its argument ``func``, an operator's overload: ``aten.add.Tensor``."""
    types: tuple[str, ...]
    """Its argument ``types``: names of the tensor arguments' classes that have a ``__torch_dispatch__``."""
    arguments: tuple[tuple[str, str], ...]
    """For each of its ``args`` and ``kwargs``: name (``args[0]``, or the keyword), and value as text (``t3`` for a
    tensor). Arguments that have their default are left out.
    """
    included: KeySet
    """The thread-local include set under which it runs, as a 64-bit number."""
    excluded: KeySet
    """The thread-local exclude set under which it runs."""
    modes_left: Count
    """The number of modes on the stack while it runs. Its own calls reach these modes."""


class TorchDispatchLeft(Event, frozen=True):
    """The handler returned. ``parent`` is its ``TorchDispatchEntered``."""

    handler: str
    """Name of the class, as in its ``TorchDispatchEntered``."""
    tensors: tuple[TensorNumber, ...]
    """Numbers of the returned tensors, in order."""
    not_implemented: bool
    """True if it returned NotImplemented: the next handler is called."""

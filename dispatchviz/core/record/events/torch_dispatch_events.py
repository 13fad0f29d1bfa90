"""Events of ``__torch_dispatch__``: Python code that handles a call of an operator."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, KeySet, TensorNumber

TorchDispatchKind = Literal["mode", "subclass"]
"""Whose ``__torch_dispatch__`` is called: that of the mode on top of the stack, or that of an argument's class."""


class TorchDispatchEntered(Container, frozen=True):
    """The Python fallback calls the ``__torch_dispatch__`` of a mode or of a tensor subclass; open until it returns.

    ``torch/csrc/utils/python_arg_parser.cpp``. What it calls on plain tensors does not reach it again.
    """

    kind: TorchDispatchKind
    """Whose method it is: a dispatch mode's or a tensor subclass's."""
    handler: str
    """Name of the class: ``LoggingMode``."""
    function: str
    """Its argument ``func``, an operator's overload: ``aten.add.Tensor``."""
    types: tuple[str, ...]
    """Its argument ``types``: names of the classes among the tensor arguments that have a ``__torch_dispatch__``."""
    arguments: tuple[tuple[str, str], ...]
    """Of each of its ``args`` and ``kwargs``: name (``args[0]``, or the keyword), and value as text (``t3`` for a
    tensor); arguments that have their default are left out."""
    included: KeySet
    """The thread's included key set under which it runs, as a 64-bit number."""
    excluded: KeySet
    """The thread's excluded key set under which it runs."""
    modes_left: Count
    """How many modes are on the stack while it runs: those that its own calls will reach."""


class TorchDispatchLeft(Event, frozen=True):
    """The handler returned. ``parent`` is its ``TorchDispatchEntered``."""

    handler: str
    """Name of the class, as in its ``TorchDispatchEntered``."""
    tensors: tuple[TensorNumber, ...]
    """Numbers of the returned tensors, in order."""
    not_implemented: bool
    """It returned NotImplemented: the next handler is called."""

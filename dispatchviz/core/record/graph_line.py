"""A line of a graph that ``torch.compile`` captured."""

from __future__ import annotations

from typing import Literal, NamedTuple

Part = Literal["", "forward", "backward"]
"""The part of a joint graph to which a line belongs; empty in other graphs."""


class GraphLine(NamedTuple):
    """A line: one ``torch.fx.Node``."""

    name: str
    """The name of the value that it computes: ``mm``."""
    kind: str
    """``torch.fx.Node.op``: ``placeholder``, ``call_function``, ``output``."""
    code: str
    """The call: ``aten.mm.default(primals_1, t)``."""
    operator: str
    """The operator: ``aten::mul.Tensor``; empty if it is not known."""
    value: str
    """Size and dtype of the result: ``[2, 4] float32``; empty if it is not a tensor."""
    file: str
    """The program's file that the line comes from, as in the header's ``sources``; empty if it is not known."""
    line: int
    """The line number in ``file``, from 1; 0 if it is not known."""
    part: Part
    node: str
    """The name of the autograd Node of this line: ``MmBackward0``. A line of the forward made it, and a line of the
    backward is part of its work.
    """
    sequence_nr: int
    """The sequence number of this Node while PyTorch traced; -1 if there is none."""
    keys: tuple[tuple[str, str], ...]
    """For each dispatch key that the Python dispatcher was asked for, the kernel that it picked: another key, or the
    name of a Python function.
    """

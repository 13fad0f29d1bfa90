"""Events of ``torch.compile``: what it traces, and the calls of the regions that it compiled."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, CountOrUnknown, LineNumber, NodeNumber, Position
from dispatchviz.core.record.graph_line import GraphLine

GraphStage = Literal["Dynamo", "joint", "forward", "backward", "inference", "compiled autograd"]
"""The part of the compiler that a graph comes from. AOTAutograd makes a joint graph and divides it into a forward and a
backward graph. Without a backward, it makes an inference graph.
"""

CompileOutcome = Literal["compiled", "not compiled", "failed"]
"""The result of a compilation."""

CaptureFunction = Literal["compiled_args", "apply_with_saved"]
"""The functions of a Node that compiled autograd calls while it captures a backward."""


class CompileStarted(Container, frozen=True):
    """``torch.compile`` begins to compile a function (``torch/_dynamo/convert_frame.py``). The event is open until it
    is done.
    """

    compile_id: str
    """PyTorch's number of the function and of its compilation: ``0/1``; empty for a backward graph."""
    function: str
    """Name of the function: ``Net.forward``; empty for a backward graph, which is compiled when it first runs."""
    file: str
    """Name of its file, as in the header's ``sources``; empty for a backward graph."""
    line: LineNumber
    """Line number where the function begins; 0 for a backward graph."""
    again: bool
    """True if the function has been compiled before."""


class GuardFailed(Event, frozen=True):
    """A guard of code that was compiled before has failed, so the function is compiled again."""

    reason: str
    """PyTorch's own report of the guard."""


class GraphBroken(Event, frozen=True):
    """The compiler ends a graph, because it cannot trace what comes next. Python itself runs that."""

    reason: str
    """PyTorch's reason."""
    file: str
    """Name of the program's file, as in the header's ``sources``; empty if it is not known."""
    line: LineNumber
    """Line number that cannot be traced; 0 if it is not known."""


class GraphCaptured(Event, frozen=True):
    """A part of the compiler has made a graph."""

    region: CountOrUnknown
    """Number of the compiled region, counted from 0 in the order of Dynamo's graphs; -1 for a graph of compiled
    autograd.
    """
    stage: GraphStage
    """The part of the compiler."""
    lines: tuple[GraphLine, ...]
    """The lines of the graph."""
    saved: tuple[str, ...]
    """The names of the values that the forward graph saves for the backward graph."""
    cached: bool
    """True if the graph comes from AOTAutograd's cache. Its lines then have no Nodes."""


class CompileFinished(Event, frozen=True):
    """The compiler is done with a function."""

    outcome: CompileOutcome
    """The result."""
    message: str
    """The exception that ended the compilation; empty if there is none."""


class RegionCalled(Container, frozen=True):
    """The program calls a compiled region. The event is open until the call returns."""

    region: Count
    """Number of the region, as in GraphCaptured."""


class RegionNodeMade(Event, frozen=True):
    """A call of a compiled region has made its Node, which runs the backward graph of the region."""

    node: NodeNumber
    """Number of the Node, a CompiledFunctionBackward."""
    region: Count
    """Number of the region, as in GraphCaptured."""


class BackwardCompiled(Container, frozen=True):
    """A backward begins that compiled autograd runs (``torch/csrc/dynamo/python_compiled_autograd.cpp``). The event is
    open until it ends.
    """


class NodeCaptured(Event, frozen=True):
    """Compiled autograd calls a function of a Node, to capture the backward as a graph."""

    function: CaptureFunction
    """The function of the Node."""
    name: str
    """Name of the Node: ``MulBackward0``."""
    index: Position
    """The position of the Node in the order in which the engine would run the Nodes."""
    content: tuple[str, ...]
    """The inputs of the graph that come from the state of the Node (``inputs[1]``, ``sizes[0]``), or the names of the
    lines that it added to the graph.
    """

"""How each event of an installed PyTorch is known: observed there, derived from its tables or from state before and
after, or unseen, since a release build does not tell of it.

Of the model everything is known: it says itself what it does. Not here: how things are observed (``dispatchviz/live``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.core.table.pytorch_registrations import chosen_build

How = Literal["observed", "derived", "unseen"]


class Known(NamedTuple):
    """How a kind of event is known."""

    how: How
    by: str
    """Observed: where it is seen. Derived: what from. Unseen: what is not seen."""
    fields: Mapping[str, tuple[How, str]] = {}
    """Fields that are known another way than the event, and what from."""


REGISTRATIONS = "from the registrations of this build"
SETS = "from the key sets of the kernel around and of this one"
BINDING = "the Python bindings call the operator without a word"
STRUCTURED = "a structured kernel calls its meta and impl functions itself"
QUEUE = "counts and ready queues are inside the engine"
PACKING = "of hooks that pack and unpack only the lines of the program's own are seen"
TORCH_DISPATCH = "from the stack of modes and the arguments, when the Python key's kernel is called"
VERSIONS = "a version is read where a Node saves a tensor, and not where it is bumped"
SWITCHES = "the switches of the thread are not watched; its key sets are, at each call"
FORWARD_AD = "forward mode is not watched; its calls are seen"
STREAMS = "streams are not watched"
REGISTERING = "from what is registered before and after a call of torch.library"
BOXING = "every kernel is called on a stack here, so that nothing is told of others"
MEMBERS = "members of a Node that change after its making are not watched"
RELEASED = "a Node drops what it saved, and is freed, without a word"
CHANGED = "that an existing tensor changes is not watched"
TRANSFORMS = "of transforms only the calls at their keys are seen"


def _unseen(by: str) -> Known:
    return Known("unseen", by)


KNOWN: Mapping[type[ev.Event], Known] = {
    ev.SourceLine: Known("observed", "the program reports its lines"),
    ev.NameBound: Known("observed", "the program reports its assignments"),
    ev.NameUnbound: Known("observed", "the program reports its assignments"),
    ev.Printed: Known("observed", "standard output"),
    ev.Warned: Known("observed", "Python's warnings"),
    ev.ProgramRaised: Known("observed", "the exception that left the program"),
    ev.TensorFormatted: Known("observed", "the method of Tensor is called"),
    ev.BindingEntered: _unseen(BINDING),
    ev.Dispatched: Known(
        "observed",
        "a kernel in front of the cell's own is called, with the key set",
        {"how": ("derived", "from nesting: within a kernel of the same operator it is a redispatch")},
    ),
    ev.KeySetComputed: Known(
        "observed",
        "the sets of the arguments and of the thread are read when the kernel is called",
        {"mask": ("derived", REGISTRATIONS), "generator": ("unseen", "a generator's set is not read")},
    ),
    ev.FallthroughSkipped: Known("derived", REGISTRATIONS),
    ev.KernelSelected: Known("derived", REGISTRATIONS),
    ev.KernelEntered: Known(
        "observed",
        "a kernel in front of the cell's own is called",
        {"kernel": ("derived", REGISTRATIONS), "pytorch_file": ("derived", REGISTRATIONS)},
    ),
    ev.KernelReturned: Known("observed", "the kernel came back with these"),
    ev.Boxed: _unseen(BOXING),
    ev.Unboxed: _unseen(BOXING),
    ev.TorchDispatchEntered: Known("derived", TORCH_DISPATCH),
    ev.TorchDispatchLeft: Known("derived", "from what the kernel of the Python key returned"),
    ev.GuardEntered: Known("derived", SETS),
    ev.GuardLeft: Known("derived", SETS),
    ev.GradModeChanged: _unseen(SWITCHES),
    ev.InferenceModeChanged: _unseen(SWITCHES),
    ev.AutocastChanged: _unseen(SWITCHES),
    ev.AutocastCast: _unseen("a cast is seen as a call"),
    ev.AutocastCacheCleared: _unseen("the cache of autocast is inside autocast"),
    ev.StreamChanged: _unseen(STREAMS),
    ev.StreamEventRecorded: _unseen(STREAMS),
    ev.StreamWaited: _unseen(STREAMS),
    ev.MemoryUsedOnStream: _unseen(STREAMS),
    ev.DynamicLayerPushed: _unseen(TRANSFORMS),
    ev.DynamicLayerPopped: _unseen(TRANSFORMS),
    ev.MetaEntered: _unseen(STRUCTURED),
    ev.OutputAllocated: _unseen(STRUCTURED),
    ev.ImplEntered: _unseen(STRUCTURED),
    ev.ProxyCopied: _unseen(STRUCTURED),
    ev.TensorCreated: Known(
        "observed",
        "the tensor is read when a call first has it, or returns it",
        {"how": ("derived", "from that nobody met it before")},
    ),
    ev.ViewMade: _unseen("that a tensor is a view is told by its storage, which it shares"),
    ev.VersionBumped: _unseen(VERSIONS),
    ev.GeometryChanged: Known(
        "observed",
        "the sizes and strides before and after a kernel that may change them",
        {"storage": ("unseen", "on which storage it is then is not read")},
    ),
    ev.RequiresGradSet: _unseen(CHANGED),
    ev.KeySetChanged: _unseen(CHANGED),
    ev.BatchedTensorMade: _unseen(TRANSFORMS),
    ev.TensorWrapperMade: _unseen(TRANSFORMS),
    ev.InplaceChecked: _unseen("of check_inplace only what it raises is seen"),
    ev.GradSet: _unseen("nobody tells that .grad is assigned"),
    ev.NodeCreated: Known(
        "observed",
        "grad_fn of a result and what its edges lead to, when the autograd kernel has returned",
        {"topological_nr": ("derived", "0 when it is made"), "thread": ("unseen", "it is 1 of all")},
    ),
    ev.EdgesCollected: Known(
        "observed",
        "next_functions of the Node",
        {
            "inputs": ("unseen", "which argument is behind which edge is not told"),
            "topological_nr": ("derived", "from the edges"),
        },
    ),
    ev.AttributeSaved: Known("observed", "_saved_ attributes of the Node"),
    ev.VariableSaved: Known(
        "observed",
        "_saved_ attributes of the Node",
        {"tensor": ("derived", "from the name: an argument's or result"), "is_output": ("derived", "from the name")},
    ),
    ev.VariableNotSaved: _unseen("nobody tells why a member is empty"),
    ev.SavedTensorHookRan: _unseen(PACKING),
    ev.AccumulatorMade: Known("observed", "the AccumulateGrad and its variable, when an edge first leads there"),
    ev.HistorySet: Known("observed", "grad_fn of the result, when the autograd kernel has returned"),
    ev.HistoryRebased: Known("observed", "grad_fn of the result, when the autograd kernel has returned"),
    ev.FunctionEntered: _unseen("of Function.apply only the lines of forward are seen"),
    ev.FunctionOutput: _unseen("of Function.apply only the lines of forward are seen"),
    ev.NoNodeMade: _unseen("nobody tells why no Node was made"),
    ev.NodeDeleted: _unseen(RELEASED),
    ev.DualLevelEntered: _unseen(FORWARD_AD),
    ev.DualLevelLeft: _unseen(FORWARD_AD),
    ev.ForwardFormulaEntered: _unseen(FORWARD_AD),
    ev.TangentSet: _unseen(FORWARD_AD),
    ev.SequenceNumberSet: _unseen(MEMBERS),
    ev.UndefinedInputAdded: _unseen(MEMBERS),
    ev.StackStored: _unseen(MEMBERS),
    ev.ParentAssigned: _unseen(MEMBERS),
    ev.HookRegistered: Known("observed", "a handle is made, or a tensor retains its gradient from then on"),
    ev.HookRemoved: Known("observed", "remove() of the handle that was made with the hook"),
    ev.BackwardStarted: Known("observed", "Python enters the engine"),
    ev.DependenciesCounted: _unseen(QUEUE),
    ev.ExecInfoPopulated: _unseen(QUEUE),
    ev.DependencyMet: _unseen(QUEUE),
    ev.NodeQueued: _unseen(QUEUE),
    ev.NodeSkipped: _unseen(QUEUE),
    ev.NodeStarted: Known(
        "observed",
        "a pre hook on the Node is called",
        {
            "waiting": ("unseen", QUEUE),
            "device": ("derived", "from its first gradient"),
            "thread": ("derived", "from its first gradient"),
        },
    ),
    ev.FormulaSkipped: _unseen("a Node leaves out formulas without a word"),
    ev.NodeFinished: _unseen("what a Node returns is seen as what the next one receives"),
    ev.HookRan: Known("observed", "the engine calls the hook by way of what stands in its place meanwhile"),
    ev.AnomalyFound: _unseen("what anomaly mode finds is seen as a warning"),
    ev.GradientReduced: _unseen("a sum to an input's size is seen as a call"),
    ev.GradientBuffered: _unseen("of input buffers only the sums are seen, as calls between Nodes"),
    ev.GradientAccumulated: Known(
        "derived", "from .grad before and after the AccumulateGrad", {"gradient": ("observed", "by the pre hook")}
    ),
    ev.GradientCaptured: _unseen("what grad() returns is taken out of the input buffers"),
    ev.VariablesReleased: _unseen(RELEASED),
    ev.FinalCallbackQueued: _unseen(QUEUE),
    ev.FinalCallbackCalled: _unseen(QUEUE),
    ev.BackwardFinished: Known("observed", "the engine returns to Python"),
    ev.OperatorDefined: Known("derived", REGISTERING),
    ev.KernelRegistered: Known("derived", REGISTERING),
    ev.CellsRecomputed: _unseen("cells are computed again without a word"),
    ev.ErrorRaised: _unseen("of errors only those that leave the program are seen"),
    ev.Unknown: _unseen("another version of dispatchviz wrote it"),
    ev.ResultHashed: _unseen("no hashes are taken"),
    ev.NumbersRecorded: _unseen("no numbers are taken"),
}
"""Of every kind."""


def is_live(header: Header) -> bool:
    """Whether an installed PyTorch was recorded, and not the model."""
    return header.engine != "model"


UNSEEN_RUNNING: tuple[ev.HookKind, ...] = ("retains-grad hook",)
"""Kinds of hooks of which a recording of an installed PyTorch is not told when they run."""


def is_unseen(header: Header, kind: type[ev.Event]) -> bool:
    """Whether a recording cannot have events of a kind: that there are none says nothing then."""
    return is_live(header) and KNOWN[kind].how == "unseen"


def how_known(trace: Trace, event: ev.AnyEvent) -> str:
    """``observed: by whom; mask derived: from what``. Empty of the model, which says itself what it does."""
    return said(KNOWN[type(event)]) if is_live(trace.header) else ""


def how_known_in_short(trace: Trace, event: ev.AnyEvent) -> str:
    """``observed``, ``derived: from what``."""
    known = KNOWN[type(event)]
    if not is_live(trace.header):
        return ""
    return known.how if known.how == "observed" else f"{known.how}: {known.by}"


def said(known: Known) -> str:
    """The same of a kind."""
    fields = [f"{name} {how}: {by}" for name, (how, by) in known.fields.items()]
    return "; ".join((f"{known.how}: {known.by}", *fields))


def build_of(header: Header) -> str:
    """Of the two builds whose registrations are known, that of a trace."""
    if is_live(header):
        return "cpu" if ", CPU build" in header.build else "cuda"
    return chosen_build()


def unseen(kind: type[ev.Event]) -> str:
    """What to say where a model's trace would have events of a kind."""
    return f"Not seen in a release build: {KNOWN[kind].by}."


def engine_text(header: Header) -> str:
    """On what: ``the model of PyTorch 2.13.0, cuda: CuPy``, ``PyTorch 2.13.0+cpu (installed, observed), cuda:
    none (CPU build)``."""
    if is_live(header):
        return f"PyTorch {header.pytorch} (installed, observed), cuda: {header.cuda}"
    return f"the model of PyTorch {header.pytorch}, cuda: {header.cuda}"

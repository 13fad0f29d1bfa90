"""All kinds of events, and the row, sign, sentence and rule of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.autocast import AUTOCAST_KINDS
from dispatchviz.explain.kinds.binding import BINDING_KINDS
from dispatchviz.explain.kinds.collective import COLLECTIVE_KINDS
from dispatchviz.explain.kinds.compile import COMPILE_KINDS
from dispatchviz.explain.kinds.compiled_autograd import COMPILED_AUTOGRAD_KINDS
from dispatchviz.explain.kinds.dispatch import DISPATCH_KINDS
from dispatchviz.explain.kinds.engine import ENGINE_KINDS
from dispatchviz.explain.kinds.error import ERROR_KINDS
from dispatchviz.explain.kinds.forward_ad import FORWARD_AD_KINDS
from dispatchviz.explain.kinds.function import FUNCTION_KINDS
from dispatchviz.explain.kinds.functorch import FUNCTORCH_KINDS
from dispatchviz.explain.kinds.gradient import GRADIENT_KINDS
from dispatchviz.explain.kinds.graph import GRAPH_KINDS
from dispatchviz.explain.kinds.guard import GUARD_KINDS
from dispatchviz.explain.kinds.hook import HOOK_KINDS
from dispatchviz.explain.kinds.kind import SIGNS, Group, Rule
from dispatchviz.explain.kinds.module import MODULE_KINDS
from dispatchviz.explain.kinds.node import NODE_KINDS
from dispatchviz.explain.kinds.program import PROGRAM_KINDS
from dispatchviz.explain.kinds.ready_queue import READY_QUEUE_KINDS
from dispatchviz.explain.kinds.registration import REGISTRATION_KINDS
from dispatchviz.explain.kinds.stream import STREAM_KINDS
from dispatchviz.explain.kinds.structured import STRUCTURED_KINDS
from dispatchviz.explain.kinds.tensor import TENSOR_KINDS
from dispatchviz.explain.kinds.torch_dispatch import TORCH_DISPATCH_KINDS
from dispatchviz.explain.sentences.statement import Statement, text_of
from dispatchviz.explain.trace_index.recorded_engine import is_live

_ALL = (
    PROGRAM_KINDS
    | BINDING_KINDS
    | DISPATCH_KINDS
    | TORCH_DISPATCH_KINDS
    | COLLECTIVE_KINDS
    | GUARD_KINDS
    | AUTOCAST_KINDS
    | STREAM_KINDS
    | FUNCTORCH_KINDS
    | STRUCTURED_KINDS
    | TENSOR_KINDS
    | GRAPH_KINDS
    | NODE_KINDS
    | HOOK_KINDS
    | FUNCTION_KINDS
    | MODULE_KINDS
    | COMPILE_KINDS
    | COMPILED_AUTOGRAD_KINDS
    | FORWARD_AD_KINDS
    | ENGINE_KINDS
    | READY_QUEUE_KINDS
    | GRADIENT_KINDS
    | REGISTRATION_KINDS
    | ERROR_KINDS
)

KINDS = _ALL.records
"""The record of each class of events."""

if TYPE_CHECKING:

    def every_kind_has_a_record(event: ev.AnyEvent) -> None:
        """Fail the type check, which names the class, if a class of events has no record."""
        if not _ALL.have(event):
            assert_never(event)


def group(event: ev.AnyEvent) -> Group:
    """The group of an event."""
    return KINDS[type(event)].group


def sign(event: ev.AnyEvent) -> str:
    """The one-character sign of an event's group, so that groups differ in more than color."""
    return SIGNS[KINDS[type(event)].group]


def label(trace: Trace, seq: int) -> str:
    """The short text of step ``seq`` in the list of steps."""
    event = trace[seq]
    return KINDS[type(event)].label(trace, event)


def rule(event: ev.AnyEvent) -> Rule:
    """The rule that a step follows."""
    known = KINDS[type(event)].rule
    return known if isinstance(known, Rule) else known(event)


def why_here(trace: Trace, seq: int) -> str:
    """The reason for step ``seq``, in the names that the program's variables have at that step."""
    return text_of(statements(trace, seq))


def statements(trace: Trace, seq: int) -> tuple[Statement, ...]:
    """The reason for step ``seq``, sentence by sentence, each with its kind and its claims about PyTorch."""
    event = trace[seq]
    said = KINDS[type(event)].why(trace, event)
    return (said,) if isinstance(said, Statement) else said


def how_known(trace: Trace, event: ev.AnyEvent) -> str:
    """``observed: by whom; mask derived: from what``; empty for the model, which reports its own steps."""
    return str(KINDS[type(event)].known) if is_live(trace.header) else ""


def how_known_in_short(trace: Trace, event: ev.AnyEvent) -> str:
    """``observed``, ``derived: from what``; empty for the model."""
    if not is_live(trace.header):
        return ""
    known = KINDS[type(event)].known
    return known.how if known.how == "observed" else f"{known.how}: {known.by}"


def unseen(kind: type[ev.Event]) -> str:
    """The text in place of events that a recording of PyTorch cannot have."""
    return f"Not seen in a release build: {KINDS[kind].known.by}."

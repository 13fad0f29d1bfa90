"""The structured kernel around a step: its meta function, the output that it requests, its impl function, its class."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around

if TYPE_CHECKING:
    from dispatchviz.explain.codegen.structured_classes import Family, StructuredClass

Part = ev.MetaEntered | ev.OutputAllocated | ev.ImplEntered | ev.ProxyCopied

PARTS_LOOKED_AT = 200
"""The number of steps directly within a kernel, and within its meta function, that are read."""


class StructuredCall(Struct, frozen=True):
    """The parts of a structured kernel, in the order in which they run."""

    kernel: ev.KernelEntered
    parts: tuple[Part, ...]
    here: int
    """The index of the part that a step is or is within, or of the last part before it; -1 before the first part."""


def structured_call(trace: Trace, at: int) -> StructuredCall | None:
    """The innermost kernel around a step, if it is structured."""
    kernel = at_or_around(trace, at, ev.KernelEntered)
    if kernel is None:
        return None
    parts = tuple(_parts(trace, kernel.seq))
    if not parts:
        return None
    begun = [index for index, part in enumerate(parts) if part.seq <= at]
    return StructuredCall(kernel, parts, begun[-1] if begun else -1)


def _parts(trace: Trace, kernel: int) -> list[Part]:
    """The parts of a kernel, with the outputs that its meta function requests."""
    found: list[Part] = []
    for event in islice(trace.children(kernel), PARTS_LOOKED_AT):
        if isinstance(event, Part):
            found.append(event)
        if isinstance(event, ev.MetaEntered):
            within = islice(trace.children(event.seq), PARTS_LOOKED_AT)
            found += [each for each in within if isinstance(each, ev.OutputAllocated)]
    return found


def class_of_call(trace: Trace, call: StructuredCall) -> StructuredClass | None:
    """The class that the wrapper instantiates; None if the operator is not PyTorch's."""
    family = family_of_call(trace, call)
    return None if family is None else family.class_of(call.kernel.kernel)


def family_of_call(trace: Trace, call: StructuredCall) -> Family | None:
    """The family of the kernel's operator; None if the operator is not PyTorch's."""
    from dispatchviz.explain.codegen.structured_classes import family_of  # with the pane, not for the first paint

    called = at_or_around(trace, call.kernel.seq, ev.Dispatched)
    return family_of(called.operator.removeprefix("aten::")) if called is not None else None


def does(made: StructuredClass, member: str) -> str:
    """The action of a member function of that class: ``outputs_[i] = create_out(...)``"""
    return next((each.does for each in made.members if each.name == member), "")

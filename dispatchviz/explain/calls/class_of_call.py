"""Of which class the wrapper of a structured kernel makes an object, and what that does."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.structured_call import StructuredCall
from dispatchviz.explain.codegen.structured_classes import Family, StructuredClass, family_of
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around


def class_of_call(trace: Trace, call: StructuredCall) -> StructuredClass | None:
    """The class of which the wrapper makes an object; None if the operator is not one of PyTorch's."""
    family = family_of_call(trace, call)
    return None if family is None else family.class_of(call.kernel.kernel)


def family_of_call(trace: Trace, call: StructuredCall) -> Family | None:
    """The family of the kernel's operator; None if that is not one of PyTorch's."""
    called = at_or_around(trace, call.kernel.seq, ev.Dispatched)
    return family_of(called.operator.removeprefix("aten::")) if called is not None else None


def does(made: StructuredClass, member: str) -> str:
    """What a member function of that class does: ``outputs_[i] = create_out(...)``"""
    return next((each.does for each in made.members if each.name == member), "")

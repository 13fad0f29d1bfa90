"""The reason of a failure in the report of a test: the diagnosis of an error that PyTorch raised, or what a library's
operator lacks.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.events import Dispatched, KernelSelected, NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnosis_of
from dispatchviz.explain.diagnosis.failure import failure_of
from dispatchviz.testing.failures import STEP, still
from dispatchviz.testing.golden_levels import is_own_operator
from dispatchviz.views.cards.diagnosis_text import parts

SAYS = "PyTorch says"
"""The part of a diagnosis that repeats the message, which the report already has."""

FALLBACK = "autograd_fallback"
NO_FORMULA = "WarnNotImplemented"


def reasons(trace: Trace, error: BaseException, compared: int | None) -> list[str]:
    """Return the lines of the reason; none if it is unknown. ``compared`` is the step where two compared texts
    differ.
    """
    if isinstance(error, AssertionError):
        step = getattr(error, STEP, compared)
        return [line for name in _without_formula(still(trace), step) for line in _formula(name)]
    failed = failure_of(trace, error)
    found = None if failed is None else diagnosis_of(failed)
    if found is None or not found.adds_information:
        return []
    return [f"{name}  {text}" for name, text in parts(found) if name != SAYS]


def _formula(operator: str) -> list[str]:
    return [
        f"why  {operator} has no kernel for the Autograd keys. PyTorch's fallback passes the call on, and no gradient "
        f"goes through it: its Node is {NO_FORMULA}.",
        f'try  Give it a formula: torch.library.register_autograd("{operator}", backward, setup_context=...).',
        'try  If it has no derivative: library.impl(name, torch.library.fallthrough_kernel, "Autograd").',
    ]


def _without_formula(trace: Trace, step: int | None) -> list[str]:
    """Return the program's operators without an autograd kernel whose Node is in the trace, or whose call is where a
    test fails.
    """
    return list(dict.fromkeys((*_at_their_node(trace), *_at_step(trace, step))))


def _at_their_node(trace: Trace) -> Iterator[str]:
    for made in map(trace.__getitem__, trace.steps_of(NodeCreated)):
        if isinstance(made, NodeCreated) and made.name == NO_FORMULA:
            call = next((each for each in trace.ancestors(made.seq) if isinstance(each, Dispatched)), None)
            yield from [call.operator] if call is not None else []


def _at_step(trace: Trace, step: int | None) -> Iterator[str]:
    call = None if step is None else trace[step]
    if isinstance(call, Dispatched) and is_own_operator(call.operator):
        inner = map(trace.__getitem__, range(call.seq + 1, trace.ends[call.seq] + 1))
        chosen = next((each for each in inner if isinstance(each, KernelSelected)), None)
        yield from [call.operator] if chosen is not None and chosen.kernel == FALLBACK else []

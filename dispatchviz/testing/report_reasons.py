"""The reason of a failure in the report of a test: the diagnosis of an error that PyTorch raised, or what a library's
operator lacks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from dispatchviz.core.record.events import KernelSelected, NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnosis_of
from dispatchviz.explain.diagnosis.failure import failure_of
from dispatchviz.testing.failures import STEP, still
from dispatchviz.testing.golden_levels import is_own_operator
from dispatchviz.views.cards.diagnosis_text import parts

SAYS = "PyTorch says"
"""The part of a diagnosis that repeats the message, which the report already has."""

FALLBACK = "autograd_fallback"


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
    name = operator.partition("::")[2]
    cause = "PyTorch's fallback only passes the call on, so no Node has its derivative."
    return [
        f"why  {operator} has no kernel for the Autograd keys. {cause}",
        f'try  Give it a formula: torch.library.register_autograd("{operator}", backward, setup_context=...).',
        f'try  If it has no derivative: library.impl("{name}", torch.library.fallthrough_kernel, "Autograd").',
    ]


def _without_formula(trace: Trace, step: int | None) -> list[str]:
    """Return the program's operators without an autograd kernel in whose calls Nodes were made, or whose call is where
    a test fails.
    """
    chosen = (trace[each] for each in trace.steps_of(KernelSelected))
    found = (each for each in chosen if isinstance(each, KernelSelected) and each.kernel == FALLBACK)
    own = [(each.operator, each.parent) for each in found if is_own_operator(each.operator)]
    nodes = trace.steps_of(NodeCreated)
    return list(
        dict.fromkeys(name for name, call in own if call is not None and (call == step or _any_in(trace, nodes, call)))
    )


def _any_in(trace: Trace, steps: Sequence[int], call: int) -> bool:
    """Return whether one of the steps is within a call."""
    at = bisect_left(steps, call)
    return at < len(steps) and steps[at] <= trace.ends[call]

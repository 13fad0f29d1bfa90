"""The assertion that a kernel ran for a key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dispatchviz.core.kernel.kernel_names import LAMBDA, without_place
from dispatchviz.core.record.events import Dispatched, KernelEntered
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.existing_names import operators_with
from dispatchviz.testing.failures import failed, listed
from dispatchviz.testing.known_names import check_name
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_part import events_within

ALIKE = 4
"""The most kernels that a failure lists for a key."""


class Run(NamedTuple):
    """A kernel that ran."""

    kernel: str
    key: str
    operator: str
    step: int


def assert_kernel_ran(trace: Trace, kernel: str, under: str, within: Pattern | None = None) -> None:
    """Assert that a kernel ran for a key: ``assert_kernel_ran(trace, "wrapper_CUDA_add_Tensor", under="CUDA")``."""
    __tracebackhide__ = True
    check_name(trace, "kernel", kernel)
    check_name(trace, "key", under)
    runs = list(_runs(trace, within, kernel == LAMBDA))
    if not any((run.kernel, run.key) == (kernel, under) for run in runs):
        raise _not_run(trace, kernel, under, runs)


def _runs(trace: Trace, within: Pattern | None, any_lambda: bool) -> Iterator[Run]:
    """Yield the kernels that ran. ``any_lambda`` leaves out the places of lambdas."""
    __tracebackhide__ = True
    for event in events_within(trace, within):
        if isinstance(event, KernelEntered):
            call = None if event.parent is None else trace[event.parent]
            key, operator = (call.key, call.operator) if isinstance(call, Dispatched) else ("", "")
            yield Run(without_place(event.kernel) if any_lambda else event.kernel, key, operator, event.seq)


def _not_run(trace: Trace, kernel: str, under: str, runs: Sequence[Run]) -> AssertionError:
    """Return the failure: the keys that the kernel ran for, the kernels that ran for this key, similar names first, and
    the kernels that ran for the program's operators that have it.
    """
    others = list(dict.fromkeys(run.kernel for run in runs if run.key == under))
    alike = difflib.get_close_matches(kernel, others, ALIKE, 0)
    keys = listed([run.key for run in runs if run.kernel == kernel], "no key at all")
    more = f" and {len(others) - ALIKE} more" * (len(others) > ALIKE)
    own = [run for run in runs if run.operator in operators_with(trace, kernel)]
    text = (
        f"{kernel} did not run under {under}\n  it ran under: {keys}\n"
        f"  {under} ran: {listed(alike, 'no kernel at all')}{more}"
    )
    nearest = [run.step for run in runs if run.kernel == kernel or (run.key == under and run.kernel == alike[0])]
    return failed(
        trace, "\n".join([text, *_of_operators(own)]), min(nearest or [run.step for run in own], default=None)
    )


def _of_operators(runs: Sequence[Run]) -> Iterator[str]:
    for operator in dict.fromkeys(run.operator for run in runs):
        ran = [f"{run.kernel} under {run.key}" for run in runs if run.operator == operator]
        yield f"  {operator}, which has it, ran: {listed(ran, '')}"

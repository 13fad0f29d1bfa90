"""The texts about the calls between two steps: each operator that the program called, and the keys at which it ran."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.call_chains import Chain, call_chain, outermost_calls

Fact = tuple[str, str]
"""A text and its group."""

NAMED = 3
"""The largest number of calls that are named. For more calls only the number is given. The same holds for the parts of
a composite.
"""

SHORT = 2
"""The largest number of keys that are written in full beside other calls. Of a longer chain only the first key is
written.
"""


def call_facts(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    """Yield the calls that the program made between two steps, each with its keys, or their number if there are
    many.
    """
    calls = outermost_calls(trace)
    steps = calls[bisect_left(calls, begin) : bisect_right(calls, end)]
    if len(steps) > NAMED:
        yield f"{len(steps):,} operator calls", "dispatch"
        return
    for step in steps:
        yield call_text(call_chain(trace, step), alone=len(steps) == 1), "dispatch"


def call_text(chain: Chain | None, alone: bool) -> str:
    """Return the text of a call: ``add → AutogradCUDA → CUDA``, ``view → AutogradCPU → …``, ``reshape → AutogradCPU
    (composite: view)``.
    """
    if chain is None:
        return "?"
    keys = chain.keys if alone or len(chain.keys) <= SHORT else (chain.keys[0], "…")
    return " → ".join((plain_operator(chain.operator), *keys)) + _parts(chain)


def _parts(chain: Chain) -> str:
    """Return the operators that the last kernel calls instead: `` (composite: t, addmm)``, `` (calls alias)``."""
    names = [plain_operator(part) for part in chain.parts[:NAMED]] + ["…"] * (len(chain.parts) > NAMED)
    listed = ", ".join(names)
    if chain.composite:
        return f" (composite: {listed})" if names else " (composite)"
    return f" (calls {listed})" if names else ""


def plain_operator(operator: str) -> str:
    """Return the short name of an operator: ``add`` for ``aten::add.Tensor``."""
    return operator.rpartition("::")[2].partition(".")[0]

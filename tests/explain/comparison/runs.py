"""Programs given as text, run with hashes of their results, and compared."""

from __future__ import annotations

import io
import textwrap
from functools import cache

from dispatchviz.explain.comparison.difference_sentences import Run, Said, said
from dispatchviz.explain.comparison.divergences import Comparison, Divergence, compare
from dispatchviz.running.program import run
from dispatchviz.trace import Trace


@cache
def traced(source: str, hashes: bool = True) -> Trace:
    """Return the trace of a program, which may raise."""
    text = textwrap.dedent(source).lstrip().encode()
    return run("-", (), io.StringIO(), text, hashes=hashes).trace


def compared(first: str, second: str) -> Comparison:
    return compare(traced(first), traced(second))


def texts_about(found: Comparison, divergence: Divergence | None = None) -> Said:
    """Return the texts about a divergence, by default the first one."""
    main = (divergence or found.divergences[0]).main
    return said(Run(found.first, "in A"), Run(found.second, "in B"), main)


def texts(found: Comparison) -> list[str]:
    """Return the short text about each divergence."""
    return [texts_about(found, each).short for each in found.divergences]

"""The Nodes predicted to raise at the end of a program are exactly those that do, over all programs.

Nothing is predicted within a checkpoint, which keeps its inputs itself and raises if one has changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.events import VariableSaved
from dispatchviz.explain.graph.version_counters import by_checkpoint, invalidated_of
from tests.claims.check_autograd import DETACHED, IN_PLACE, error_of_running
from tests.claims.moments import ModelRun, Path
from tests.claims.pytorch_runs import PyTorchRun

NOT_RUN = ("torch::autograd::AccumulateGrad", "torch::autograd::CopySlices")
"""Nodes that are not run: the first would write a gradient; the trace does not say which Node is inside the second."""


def predicted(run: ModelRun) -> dict[Path, bool]:
    """The predictions for each Node that a variable leads to at the end: True if it will raise an error."""
    end = len(run.trace) - 1
    nodes = run.moments[-1].nodes
    saved = (event for event in run.trace if isinstance(event, VariableSaved))
    checkpointed = {event.node for event in saved if by_checkpoint(run.trace, event)}
    kept = {number: path for number, path in nodes.items() if number not in checkpointed}
    return {path: bool(invalidated_of(run.trace, number, end)) for number, path in kept.items()}


def raises(pytorch: PyTorchRun, path: Path) -> bool | None:
    """Return whether PyTorch's Node raises, or None if it does not exist or must not be run."""
    try:
        node = pytorch.node(path)
    except (RuntimeError, KeyError):  # a view that must not be read any more
        return None
    if node is None or node.name() in NOT_RUN:
        return None
    error = error_of_running(node)
    return IN_PLACE in error or DETACHED in error


def wrongly_predicted(run: ModelRun, pytorch: PyTorchRun) -> Iterator[str]:
    """Yield the Nodes whose behavior was not predicted at the end of a program. PyTorch's Nodes are run, so this comes
    last.
    """
    for path, raises_here in predicted(run).items():
        found = raises(pytorch, path)
        if found is not None and found != raises_here:
            yield f"{path}: predicted to {'raise' if raises_here else 'run'}, and does not"

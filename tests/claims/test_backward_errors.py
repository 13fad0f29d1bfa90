"""The Nodes that are predicted to raise at the end of a program are exactly those that do, over all programs.

Within a checkpoint nothing is predicted: it keeps its inputs by itself and raises if one has changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatchviz.core.record.events import VariableSaved
from dispatchviz.explain.errors.version_counters import by_checkpoint, invalidated_of
from tests.claims.moments import ModelRun, Path, run_on_model
from tests.claims.programs import programs
from truth.observers.runs import in_new_thread

pytest.importorskip("torch")

from tests.claims.check_autograd import DETACHED, IN_PLACE, error_of_running
from tests.claims.pytorch_runs import PyTorchRun, run_on_pytorch

pytestmark = pytest.mark.torch

PARTS = 8
ALL = programs()

NOT_RUN = ("torch::autograd::AccumulateGrad", "torch::autograd::CopySlices")
"""The first would write a gradient; of the second the trace does not say which Node is inside."""


def predicted(run: ModelRun) -> dict[Path, bool]:
    """Of each Node that a variable leads to at the end: whether it is predicted to raise."""
    end = len(run.trace) - 1
    nodes = run.moments[-1].nodes
    saved = (event for event in run.trace if isinstance(event, VariableSaved))
    checkpointed = {event.node for event in saved if by_checkpoint(run.trace, event)}
    kept = {number: path for number, path in nodes.items() if number not in checkpointed}
    return {path: bool(invalidated_of(run.trace, number, end)) for number, path in kept.items()}


def raises(pytorch: PyTorchRun, path: Path) -> bool | None:
    """Whether PyTorch's Node does; None if it is not there, or must not be run."""
    try:
        node = pytorch.node(path)
    except (RuntimeError, KeyError):  # a view that must not be read any more
        return None
    if node is None or node.name() in NOT_RUN:
        return None
    error = error_of_running(node)
    return IN_PLACE in error or DETACHED in error


def wrong(source: str) -> Iterator[str]:
    """Nodes that do what was not predicted."""
    run = run_on_model(source)
    pytorch = run_on_pytorch(source, run.moments[-1].position)
    for path, said in predicted(run).items():
        found = raises(pytorch, path)
        if found is not None and found != said:
            yield f"{path}: predicted to {'raise' if said else 'run'}, and does not"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_raise_where_it_is_predicted_and_nowhere_else(part: int) -> None:
    found = []
    for name in sorted(ALL)[part::PARTS]:
        found += [f"{name} {text}\n{ALL[name]}" for text in in_new_thread(lambda name=name: list(wrong(ALL[name])))]
    assert not found, "\n".join(found[:10])

"""Views whose base was written to: reading ``grad_fn`` makes a new Node, so the recorder reads it only where PyTorch
has read it.
"""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace
from tests.live.both_engines import recorded

pytestmark = pytest.mark.torch

PROGRAM = """
import torch
x = torch.ones(2, requires_grad=True)
base = x * 1
view = base.view(-1)
base.mul_(2)
same = view.to(torch.float32)
print(same is view, (x * 3).grad_fn._sequence_nr() - base.grad_fn._sequence_nr())
library = torch.library.Library("stale", "DEF")
library.define("same(Tensor x) -> Tensor")
library.impl("same", lambda x: x, "CPU")
torch.ops.stale.same(view)
library._destroy()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return recorded(PROGRAM, "torch")


def test_a_composite_that_returns_a_stale_view_makes_no_node(trace: Trace) -> None:
    """The sequence numbers are those of a program that is not recorded."""
    assert [one.text for one in trace.events if isinstance(one, ev.Printed)] == ["True 1\n"]


def test_the_fallback_of_autograd_rebases_the_history_of_a_stale_view(trace: Trace) -> None:
    made = [one.node for one in trace.events if isinstance(one, ev.NodeCreated) if one.name == "AsStridedBackward0"]
    assert made == [one.node for one in trace.events if isinstance(one, ev.HistoryRebased)][1:]

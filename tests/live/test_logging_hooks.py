"""A backward whose Nodes PyTorch logs: each hook that logs runs before its Node, as in PyTorch."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from tests.live.both_engines import recorded

pytestmark = pytest.mark.torch

PROGRAM = """
import logging
import torch
logger = logging.getLogger("torch.autograd.graph")
logger.addHandler(logging.NullHandler())
logger.propagate = False
logger.setLevel(logging.DEBUG)
x = torch.ones(2, requires_grad=True)
x.sum().backward()
logger.setLevel(logging.NOTSET)
"""

KINDS = ev.HookRegistered, ev.BackwardStarted, ev.HookRan, ev.NodeStarted, ev.BackwardFinished, ev.HookRemoved


def test_hooks_that_log_run_before_their_nodes_and_are_gone_after_the_backward() -> None:
    kinds = [type(event) for event in recorded(PROGRAM, "torch").events if isinstance(event, KINDS)]
    node = [ev.HookRan, ev.NodeStarted]
    registered, removed = [ev.HookRegistered] * 2, [ev.HookRemoved] * 2
    assert kinds == [*registered, ev.BackwardStarted, *node, *node, ev.BackwardFinished, *removed]

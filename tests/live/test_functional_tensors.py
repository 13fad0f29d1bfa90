"""Functional tensors in a recording: kernels at Functionalize and Meta, and the copies that factories return."""

from __future__ import annotations

import pytest

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from tests.live.both_engines import on_both, recorded

pytestmark = pytest.mark.torch

ENABLED = """
import torch
torch._enable_functionalization(reapply_views=True)
x = torch.ones(2)
torch._disable_functionalization()
value = torch._from_functional_tensor(x)
torch._enable_functionalization(reapply_views=True)
x.add_(1)
torch._disable_functionalization()
print(x._version, value._version)
"""

LEAF = """
import torch
f = torch._to_functional_tensor(torch.ones(2))
f.requires_grad_()
f * f
"""


def test_calls_under_functionalization_are_those_of_the_model() -> None:
    """The first one is seen, too, the call of the meta kernel, and the version that the copy does not share."""
    assert on_both(ENABLED).same


def test_a_leaf_requires_grad_at_the_call_that_makes_its_accumulator() -> None:
    """``requires_grad_`` calls no operator, so check compares the flag from that call on."""
    seen = seen_by_both(recorded(LEAF, "torch")).events
    keys = raw(DispatchKey.Functionalize)
    first = next(one for one in seen if isinstance(one, ev.TensorCreated) and one.key_set & keys)
    assert first.requires_grad

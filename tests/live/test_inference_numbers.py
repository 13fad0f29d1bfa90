"""Numbers that PyTorch wraps, in inference mode, where their tensors have no keys for autograd."""

from __future__ import annotations

import pytest

from dispatchviz.cli.check_runs import two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.running.program_source import Code

pytestmark = pytest.mark.torch

PROGRAM = """
import torch
normal = torch.ones(2)
with torch.inference_mode():
    x = torch.ones(2)
    y = 2 - x
    x.add_(2)
    x[0] = 5
    z = torch.where(x > 1, x, 0.5) / 3
    normal.mul_(1.5)
    print(x, y, z, normal + 2)
"""


def test_a_call_with_a_number_goes_where_pytorchs_goes() -> None:
    found = two_runs(Code(PROGRAM), ())
    assert found.same
    keys = {
        event.key
        for step in found.torch.steps_of(ev.Dispatched)
        if isinstance(event := found.torch[step], ev.Dispatched)
    }
    assert "ADInplaceOrView" in keys  # of the tensor that was made before

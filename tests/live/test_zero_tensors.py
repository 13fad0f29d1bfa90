"""Zero tensors in a recording: the tangents of Python numbers, and the kernel that redispatches another operator."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from tests.live.both_engines import on_both, recorded

pytestmark = pytest.mark.torch

TANGENTS = """
import torch
forward = torch.autograd.forward_ad
x = torch.tensor([1.0, 2.0])
with forward.dual_level():
    d = forward.make_dual(x, x + 1)
    made = [d * 3, d + 1, 2 - d, d * 0, d * 2j, d / 2.0]
    one = torch.tensor(1.0)
    weighted = forward.make_dual(one, one + 1)
    torch.ops.aten.nll_loss_backward(weighted, torch.ones(1, 3), torch.tensor([2]), None, 1, -100, one)  # calls numel
    found = [forward.unpack_dual(one).tangent for one in made]
zero = torch._efficientzerotensor((), dtype=torch.float64)  # not the number in the next line
found.append(torch._efficientzerotensor((2,)) * 0.0)
print([one._is_zerotensor() for one in found], [one.dtype for one in found])
"""

DIFFERENCE = """
import torch
torch._efficientzerotensor((2,)) - torch.ones(2)
"""


@pytest.mark.filterwarnings("ignore:.*jit.script.* is deprecated:DeprecationWarning")  # PyTorch's own formulas use it
def test_the_tangent_of_a_number_is_the_zero_tensor_that_pytorch_made() -> None:
    """The model has the same calls with the same tensors and key sets."""
    assert on_both(TANGENTS).same


def test_the_difference_with_a_zero_tensor_redispatches_add() -> None:
    calls = [one for one in recorded(DIFFERENCE, "torch").events if isinstance(one, ev.Dispatched)]
    assert [one.how for one in calls if one.operator == "aten::add.Tensor"] == ["redispatch"]

"""Shapes, numbers and dtypes that cannot be: the errors are PyTorch's, in type and text, and never NumPy's."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

CALLS = (
    "torch.zeros(2**62)",
    "torch.zeros(2**40)",
    "torch.empty(2**31, 2**31, 2**31)",
    "torch.arange(2**62)",
    *(
        f"torch.zeros(2{where}).resize_{size}"
        for where in ("", ", device='meta'")
        for size in ("(2**62, 8)", "(2**40, 2**40)")
    ),
    *("torch.zeros(2).resize_(2**62, 8, 0)", "torch.zeros(2).resize_(2**62)", "torch.zeros(2).resize_(-1)"),
    *(f"torch.{name}(2**62, 8)" for name in ("zeros", "ones", "rand", "Tensor", "FloatTensor")),
    *(f"torch.{name}((2**62, 8), device='meta')" for name in ("empty", "zeros")),
    *("torch.empty(2**62, device='meta')", "torch.empty(2**62, 8, 0)", "torch.eye(2**40)", "torch.full((2**62, 8), 1)"),
    *(f"torch.empty_strided((2**62, 8), {stride})" for stride in ("(1, 1)", "(0, 0)", "(1, 2**62)")),
    *(f"torch.empty_strided((2, 2), {stride})" for stride in ("(2**62, 2**62)", "(2**61, 1)")),
    "torch.empty_strided((2, 2), (2**62, 2**62), device='meta')",
    *(f"torch.empty(2).as_strided({rest})" for rest in ("(2**62, 8), (1, 1)", "(2**62, 8), (0, 0)", "(2,), (2**62,)")),
    *(
        "torch.empty(2).as_strided((2,), (1,), 2**62)",
        "torch.empty(1).expand(2**62, 8)",
        "torch.empty(2).view(2**62, 8)",
    ),
    *("torch.empty(2).expand(2**62, 2)", "torch.empty(2).reshape(2**62, 8)", "torch.empty(1).repeat(2**62, 8)"),
    *("torch.empty(2).new_zeros(2**62, 8)", "torch.empty(2).new_empty_strided((2**62, 8), (1, 1))"),
    "torch.arange(0, 5, float('nan'))",
    "torch.ones(2).isclose(torch.ones(2), rtol=float('nan'))",
    "torch.ones(2, 2).renorm(2, 0, float('nan'))",
    "torch.cdist(torch.ones(2, 2), torch.ones(2, 2), float('nan'))",
    "torch._softmax_backward_data(torch.ones(2), torch.ones(3), 0, torch.float32)",
    "torch.native_group_norm(torch.ones(2, 3), None, None, 1, 3, 1, 1, 1e-5)",
    "F.rms_norm(torch.ones(2, 3, dtype=torch.int64), (3,))",
    "F.rms_norm(torch.ones(2, 3, dtype=torch.bool), (3,), eps=1e-5)",
    "F.unfold(torch.ones(1, 1, 4, 4), 2, padding=-1)",
    "F.unfold(torch.ones(1, 1, 4, 4), 0)",
    "F.fold(torch.ones(1, 4, 9), (4, 4), 2, padding=-1)",
    "F.conv_transpose1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), padding=100)",
    "F.conv_transpose2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3), padding=100)",
    "F.conv_transpose3d(torch.ones(1, 1, 4, 4, 4), torch.ones(1, 1, 3, 3, 3), padding=10)",
    "F.conv_transpose1d(torch.ones(1, 4), torch.ones(1, 1, 3), padding=3)",
    "F.adaptive_max_pool1d(torch.ones(0, 2, 4), 2)",
    "F.adaptive_max_pool2d(torch.ones(0, 2, 4, 4), 2)",
    "F.adaptive_max_pool3d(torch.ones(0, 2, 4, 4, 4), 2)",
    "F.cross_entropy(torch.ones(3), torch.tensor([0, 1]))",
    "F.nll_loss(torch.ones(3), torch.tensor([0, 1]))",
    "F.fractional_max_pool2d(torch.ones(1, 1, 5, 5), 2, output_size=-1)",
    *(f"F.interpolate(torch.ones(1, 1, 4, 4), scale_factor={factor})" for factor in ("float('nan')", "float('inf')")),
    "F.interpolate(torch.ones(1, 1, 4, 4), scale_factor=2.0**63, mode='bilinear')",
    "F.embedding(torch.tensor([1]), torch.ones(3, 2), float('nan'))",
    "torch.einsum('ij->ji')",
    "torch.einsum('ij->ji', [])",
)


def answer(torch: ModuleType, call: str) -> str:
    """The shape of the result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(tuple(eval(call, {"torch": torch, "F": torch.nn.functional}).shape))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("call", CALLS)
def test_errors_are_those_of_pytorch(call: str) -> None:
    from dispatchviz import torch as model

    assert answer(model, call) == answer(torch, call)

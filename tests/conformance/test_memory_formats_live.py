"""Sizes, strides, dtypes and errors compared with PyTorch's: memory formats, the device meta, wrong shapes."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.amounts import in_turn, some
from tests.conformance.memory_formats import pairs

torch = pytest.importorskip("torch")


def layout(torch: ModuleType, x: Any, y: Any) -> Any:
    """Return the geometry of a result, its size in memory, and whether it is the tensor itself or shares its memory."""
    if not isinstance(y, torch.Tensor):
        return y
    formats = ("contiguous_format", "channels_last", "channels_last_3d")
    on_meta = y.device.type == "meta"
    return {
        "size": (tuple(y.shape), y.stride(), y.storage_offset()),
        "kind": (str(y.dtype), str(y.device), y.requires_grad),
        "formats": [y.is_contiguous(memory_format=getattr(torch, name)) for name in formats],
        "itself": y is x,
        "bytes": None if on_meta else y.untyped_storage().nbytes(),
        "shared": not on_meta and x.device == y.device and y.numel() > 0 and y.data_ptr() == x.data_ptr(),
    }


def answer(torch: ModuleType, tensor: str, conversion: str) -> Any:
    """Return the layout of the result, or the error."""
    x = eval(tensor, {"torch": torch})
    try:
        return layout(torch, x, eval(conversion, {"torch": torch, "x": x}))
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.long
def test_every_conversion_has_the_layout_of_pytorch() -> None:
    from dispatchviz import torch as model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tensor, conversion in some([*pairs()], 12):
            assert answer(model, tensor, conversion) == answer(torch, tensor, conversion), (tensor, conversion)


EXPRESSIONS = in_turn(Path(__file__).with_name("meta_expressions.txt").read_text().splitlines(), 2)

NAMES = """
m = torch.empty(4, 4, device=D)
v = torch.empty(4, device=D)
i = torch.zeros(4, dtype=torch.long, device=D)
b = torch.empty(4, 4, dtype=torch.bool, device=D)
c = torch.empty(4, 4, dtype=torch.complex64, device=D)
bm = torch.empty(2, 4, 4, device=D)
im = torch.empty(2, 4, 8, 8, device=D)
"""
"""The tensors that the expressions use."""


def meta_layout(torch: ModuleType, value: Any) -> Any:
    """Return the geometry of a result, or of several."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), str(value.device), tuple(value.shape), value.stride()
    if isinstance(value, (list, tuple)):
        return [meta_layout(torch, one) for one in value]
    return str(value)


def answers(torch: ModuleType) -> list[Any]:
    """Return the layout of each result, or the error."""
    found = []
    for expression in EXPRESSIONS:
        space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "D": "meta"}
        exec(NAMES, space)
        try:
            found.append(meta_layout(torch, eval(expression, space)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return found


def test_results_on_meta_have_the_layout_of_pytorch() -> None:
    from dispatchviz import torch as model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression, ours, theirs in zip(EXPRESSIONS, answers(model), answers(torch), strict=True):
            assert ours == theirs, expression


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


def answer_to_wrong_shape(torch: ModuleType, call: str) -> str:
    """Return the shape of the result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(tuple(eval(call, {"torch": torch, "F": torch.nn.functional}).shape))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("call", CALLS)
def test_errors_are_those_of_pytorch(call: str) -> None:
    from dispatchviz import torch as model

    assert answer_to_wrong_shape(model, call) == answer_to_wrong_shape(torch, call)

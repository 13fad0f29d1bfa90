"""Lazy modules, whose shapes are inferred from the first input. Reprs and errors are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import dispatchviz.torch as torch

nn = torch.nn
UNUSED = "Can't access the shape of an uninitialized parameter or buffer."


def test_a_lazy_module_becomes_an_ordinary_one() -> None:
    """With its first call, and with the shapes of that input."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).double()
    assert repr(model[0]) == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))"
    assert repr(model[3].weight) == "<UninitializedParameter>"
    assert repr(model[1].running_mean) == "<UninitializedBuffer>"
    model(torch.ones(2, 3, 5, 5, dtype=torch.float64))
    assert [type(module) for module in model] == [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear]
    assert repr(model[3]) == "Linear(in_features=36, out_features=2, bias=True)"
    assert type(model[0].weight) is nn.Parameter
    assert model[0].weight.dtype is torch.float64
    assert model[0].weight.flatten()[:4].tolist() == pytest.approx([0.1809, 0.0800, -0.0156, 0.1619], abs=1e-4)
    loaded = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert str(loaded.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    assert type(loaded[0].weight) is nn.Parameter
    assert type(loaded[0]) is nn.LazyConv2d


def test_uninitialized_parameters_raise() -> None:
    """Its shape, functions of it, inputs of other dimensions, loading it into an ordinary module."""
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match=UNUSED):
        layer.weight.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        layer.weight + 1
    with pytest.raises(RuntimeError, match=UNUSED):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match=r"Expected 2D \(unbatched\) or 3D \(batched\) input to LazyConv1d"):
        nn.LazyConv1d(3, 2)(torch.ones(1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(3, 2, groups=3)(torch.ones(1, 2, 3, 4))

"""The devices on which tensors may be, compared with the installed torchgen and PyTorch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchviz.torch as model
from dispatchviz.core import generated

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

GENERATED = [Path(generated.__file__).parent / f"register_{name}.py" for name in ("cpu_cuda", "cuda")]
_CHECK = re.compile(r'check_and_update_common_device\(common_device, (\w+), "(\w+)", "(\w+)"\)')


def wrappers() -> set[str]:
    """Return PyTorch's names of all CUDA wrappers of the model: of functions, or in the docstrings of shared ones."""
    return {name for path in GENERATED for name in re.findall(r"\bwrapper_CUDA_\w+", path.read_text())}


def checked() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the arguments in order for each wrapper with a check."""
    for path in GENERATED:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "check_common_device":
                assert [keyword.arg for keyword in node.keywords] == [ast.unparse(k.value) for k in node.keywords]
                yield ast.literal_eval(node.args[0]), [str(keyword.arg) for keyword in node.keywords]


@pytest.mark.long
def test_cuda_wrappers_check_the_same_devices_as_torchgen() -> None:
    from torchgen.model import DispatchKey

    from truth.observers.torchgen import generator

    text = generator().written(DispatchKey.CUDA, generator().groups)
    expected: dict[str, list[str]] = {}
    for argument, method, name in _CHECK.findall(text):
        assert argument == name
        expected.setdefault(method, []).append(name)
    ours, known = dict(checked()), wrappers()
    assert len(known) > 1000
    assert known <= set(re.findall(r"\bwrapper_CUDA_\w+", text))
    assert ours.keys() <= known
    for method in known:
        alone = len(expected.get(method, [])) == 1 and method not in ours
        assert alone or ours.get(method, []) == expected.get(method, []), method


MIXED = (
    *("torch.mm(c, m)", "torch.mm(m, c)", "torch.bmm(c[None], m[None])", "torch.bmm(m[None], c[None])"),
    *("torch.addmm(c, m, m)", "torch.addmm(m, c, m)", "torch.addmm(m, m, c)", "torch.addmm(m, c, c)"),
    *("torch.addmm(c, m, m, beta=0)", "torch.mv(c, m[0])", "torch.mv(m, c[0])", "torch.addmv(c[0], m, m[0])"),
    *("torch.addmv(m[0], c, m[0])", "torch.addmv(m[0], m, c[0])", "torch.addmv(m[0], c, c[0])"),
    *("torch.addmv(c[0], m, m[0], beta=0)", "torch.baddbmm(c[None], m[None], m[None])"),
    *("torch.baddbmm(m[None], c[None], m[None])", "torch.baddbmm(m[None], m[None], c[None])"),
    *("torch.nn.functional.linear(m, c)", "torch.nn.functional.linear(m, m, c[0])", "torch.einsum('ij,jk', c, m)"),
    *("torch.cat([c, m])", "torch.cat([m, c])", "torch.stack([c, m])", "torch.gather(m, 0, i[None])"),
    *("c + m", "m + c", "torch.maximum(m, c)", "torch.clamp(m, c)", "torch.clamp_min(c, m)", "m + c[0, 0]"),
    *("c[i.to('meta')]", "m[i]", "c.masked_fill(m > 0, 1)", "m.masked_fill(c > 0, 1)", "c.masked_fill_(m > 0, 1)"),
)


@pytest.mark.parametrize("expression", MIXED)
def test_mixing_cpu_and_meta_gives_the_outcome_of_pytorch(expression: str) -> None:
    assert outcome(model, expression) == outcome(torch, expression)


TYPES = ("xpu", "mtia", "hpu", "privateuseone", "ipu", "hip", "ve", "fpga", "maia", "xla", "vulkan", "mps")
WAYS = (
    *("torch.ones(1, device=d)", "torch.tensor([1.0], device=d)", "torch.as_tensor(c, device=d)", "c.to(d)"),
    *("torch.zeros_like(c, device=d)", "c.new_zeros(1, device=d)", "torch.asarray(2.0, device=d)"),
    "c.new_tensor(1, device=d)",
)


@pytest.mark.parametrize("device", TYPES)
def test_missing_devices_raise_as_in_pytorch(device: str) -> None:
    for way in WAYS:
        assert outcome(model, way, d=device) == outcome(torch, way, d=device), way


@pytest.mark.parametrize("device", [*TYPES, "cpu", "cpu:1", "meta", "lazy:2", "mkldnn", "opengl", "opencl", "ideep"])
def test_generators_of_missing_devices_raise_as_in_pytorch(device: str) -> None:
    def asked(module: Any) -> str:
        try:
            return str(module.Generator(device).device)
        except RuntimeError as error:
            return str(error)

    assert asked(model) == asked(torch)


def outcome(module: Any, expression: str, **more: Any) -> tuple[str, str]:
    """Return the device and size of an expression's result, or the type and first sentence of the error."""
    names = {"torch": module, "c": module.ones(2, 2), "m": module.ones(2, 2, device="meta"), "i": module.tensor([0])}
    try:
        result = eval(expression, names | more)
    except Exception as error:
        return type(error).__name__, str(error).partition(". ")[0]
    return str(result.device), str(tuple(result.shape))

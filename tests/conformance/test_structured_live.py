"""The names of meta and impl functions against PyTorch's CPU library; where an iterator casts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.generated import register_cpu, register_cpu_cuda

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

SOURCE = "".join(Path(str(m.__file__)).read_text(encoding="utf-8") for m in (register_cpu, register_cpu_cuda))

_IMPL = r'enter_impl\(\s*\(?\s*(?:"\w+"\s+if ks & CUDA_BIT\s+else )?"(\w+)"'
"""The name for the CPU."""


@pytest.fixture(scope="module")
def compiled() -> frozenset[str]:
    from tests.claims.check_structured import compiled_functions

    return compiled_functions()


def test_every_meta_function_is_pytorchs(compiled: frozenset[str]) -> None:
    ours = {f"structured_{name}::meta" for name in re.findall(r'(?:Functional|InPlace|Out)\("(\w+)"', SOURCE)}
    assert len(ours) > 250
    assert not ours - compiled


def test_every_impl_function_is_pytorchs(compiled: frozenset[str]) -> None:
    ours = {f"structured_{name}::impl" for name in re.findall(_IMPL, SOURCE)}
    assert len(ours) > 250
    assert not ours - compiled


@pytest.mark.parametrize(
    ("operator", "arguments"), [("add.Tensor", 2), ("gt.Tensor", 2), ("atan2.default", 2), ("sqrt.default", 1)]
)
def test_pytorch_casts_before_it_allocates_the_output(operator: str, arguments: int) -> None:
    """The default for backends gets its memory by a call, so that the order shows."""
    base, _, overload = operator.partition(".")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
    operands = (torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))[:arguments]
    with torch.autograd.profiler.profile() as profiler:
        getattr(getattr(torch.ops.aten, base), overload).redispatch(keys, *operands)
    events = sorted(profiler.kineto_results.events(), key=lambda event: event.start_ns())
    names = [event.name() for event in events if event.name() in ("aten::to", "aten::empty")]
    assert names[:2] == ["aten::to", "aten::empty"]

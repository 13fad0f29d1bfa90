"""A recording of an installed PyTorch tells which kernels give a tensor other sizes or strides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace

pytestmark = pytest.mark.torch

PROGRAM = """
import torch
x = torch.ones(2, 3)
x.unsqueeze_(0)
y = torch.empty(0)
torch.add(torch.ones(2), 1, out=y)
x.data = torch.ones(4)
x.add_(1)
x.resize_as_(torch.ones(3))
"""


def test_each_change_is_told_once_by_the_kernel_that_makes_it(tmp_path: Path) -> None:
    file = tmp_path / "a.dvtrace"
    words = ["trace", "--engine", "torch", "--save", str(file), "-c", PROGRAM]
    subprocess.run([sys.executable, "-m", "dispatchviz", *words], check=True, capture_output=True)
    trace = Trace.load(file)
    changes = [trace[step] for step in trace.steps_of(ev.GeometryChanged)]
    assert [(one.shape, one.stride) for one in changes if isinstance(one, ev.GeometryChanged)] == [
        ((1, 2, 3), (6, 3, 1)),
        ((2,), (1,)),
        ((3,), (1,)),  # not of x.data: no kernel does that, and add_ changes nothing
    ]


def test_every_operator_with_out_is_known_by_its_name() -> None:
    import torch

    from dispatchviz.live.changed_geometry import may_resize

    for schema in torch._C._jit_get_all_schemas():
        writes_to_out = any(one.kwarg_only and one.alias_info and one.alias_info.is_write for one in schema.arguments)
        if schema.name.startswith("aten::") and writes_to_out:
            assert may_resize(f"{schema.name}.{schema.overload_name}", "CPU"), schema

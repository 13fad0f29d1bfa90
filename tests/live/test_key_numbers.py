"""Recordings of an installed PyTorch: the key sets of a thread, inference mode, changed geometry."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.local_sets import LocalSets

from .both_engines import on_both, recorded

pytestmark = pytest.mark.torch


def read(sets: LocalSets, kept: Sequence[int]) -> list[int]:
    return [one ^ default for one, default in zip(kept, sets.defaults, strict=True)]


def asked(c: Any) -> list[int]:
    return [c._dispatch_tls_local_include_set().raw_repr(), c._dispatch_tls_local_exclude_set().raw_repr()]


def compare(torch: Any, sets: LocalSets) -> list[bool]:
    kept = sets.of_this_thread()
    with torch.inference_mode():
        inside = read(sets, kept) == asked(torch._C)
        differs = read(sets, kept)
    return [inside, read(sets, kept) == asked(torch._C), differs != read(sets, kept)]


@pytest.mark.parametrize("is_found", [True, False])
def test_each_thread_has_its_own(is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed_torch()
    if not is_found:
        monkeypatch.setattr("dispatchviz.live.local_sets._NAME", "no_such_variable")
    sets = LocalSets(torch._C)
    found: list[list[bool]] = []
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
        thread = threading.Thread(target=lambda: found.append(compare(torch, sets)))
        thread.start()
        thread.join()
        found.append(compare(torch, sets))
    assert found == [[True] * 3] * 2


def test_a_variable_that_does_not_follow_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed_torch()
    monkeypatch.setattr(LocalSets, "_there", lambda self: memoryview(bytes(16)).cast("Q"))
    sets = LocalSets(torch._C)
    assert compare(torch, sets) == [True] * 3


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
    found = on_both(PROGRAM)
    assert found.same
    keys = {
        event.key
        for step in found.torch.steps_of(ev.Dispatched)
        if isinstance(event := found.torch[step], ev.Dispatched)
    }
    assert "ADInplaceOrView" in keys  # of the tensor that was made before


RESIZING = """
import torch
x = torch.ones(2, 3)
x.unsqueeze_(0)
y = torch.empty(0)
torch.add(torch.ones(2), 1, out=y)
x.data = torch.ones(4)
x.add_(1)
x.resize_as_(torch.ones(3))
"""


def test_each_change_is_recorded_once_by_the_kernel_that_makes_it() -> None:
    trace = recorded(RESIZING, "torch")
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


SIZED_LATE = """
import torch
x = torch.ones(2, 3)
v, m = torch.var_mean(x, 1)
s = torch.std_mean(x)
i = x.nonzero()
"""


def test_a_tensor_that_a_kernel_sizes_late_has_its_final_sizes() -> None:
    trace = recorded(SIZED_LATE, "torch")
    last = len(trace) - 1
    held = {name: index(trace).holder(name, last) for name in ("v", "m", "i", "s[0]", "s[1]")}
    shapes = {name: None if tensor is None else index(trace).shape(tensor, last) for name, tensor in held.items()}
    assert shapes == {"v": (2,), "m": (2,), "i": (6, 2), "s[0]": (), "s[1]": ()}

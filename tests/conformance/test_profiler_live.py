"""What is exported for Perfetto beside what ``torch.profiler`` writes of the same program."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.program import run
from dispatchviz.render.perfetto.trace_json import perfetto_chunks
from tests.amounts import in_turn
from tests.profiles import arrows, nested
from truth.observers.runs import in_new_thread
from truth.programs import PROGRAMS

EACH = 12
"""One in so many of the stored programs is looked at."""

torch = pytest.importorskip("torch")

BY_HAND = {
    "matrices": """\
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2, 2, requires_grad=True)
y = torch.mm(x, w)
(y + x).relu().sum().backward()
torch.cat([x, x * 2]).view(4, 2)[0].sum().backward()
""",
    "hooks": """\
import torch
def pre(grad):
    return grad * 2
def post(gradients, received):
    return tuple(None if grad is None else grad * 1 for grad in gradients)
x = torch.ones(2, 2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
y = x * b
y.register_hook(pre)
z = y + x
z.grad_fn.register_hook(post)
z.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
x.register_post_accumulate_grad_hook(lambda leaf: None if leaf.detach().mul(3).sum() else None)
z.sum().backward()
""",
    "training": """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    out = net(torch.randn(5, 3))
    torch.nn.functional.cross_entropy(out, torch.tensor([0, 1, 0, 1, 1])).backward()
    optimizer.step()
""",
    "twice": """\
import torch
x = torch.ones(3, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
g.pow(2).sum().backward()
with torch.no_grad():
    x.add_(1)
with torch.inference_mode():
    x + 1
torch.ops.aten.add(x, x)
""",
}
"""Programs of which sizes and strides are compared too."""

OTHERWISE: dict[str, str] = {}
"""Stored programs that differ, and why."""


def written(source: str, folder: Path) -> list[dict[str, Any]]:
    """The events that the profiler writes, in a thread that has run nothing."""
    file = folder / "profile.json"

    def profiled() -> None:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
            with suppress(BaseException):  # what it raises is no part of the comparison
                exec(compile(source, "source", "exec"), {"__name__": "__main__"})
        profile.export_chrome_trace(str(file))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # kernels that several threads share reduce in two steps
    try:
        in_new_thread(profiled)
    finally:
        torch.set_num_threads(threads)
    events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    return events


def exported(source: str, folder: Path) -> list[dict[str, Any]]:
    """Ours."""
    program = folder / "program.py"
    program.write_text(source)
    trace = run(str(program), (), io.StringIO()).trace
    events: list[dict[str, Any]] = json.loads(b"".join(perfetto_chunks(trace)))["traceEvents"]
    return events


@pytest.mark.parametrize("name", BY_HAND)
def test_names_nesting_numbers_and_sizes_are_the_profilers(name: str, tmp_path: Path) -> None:
    theirs, ours = written(BY_HAND[name], tmp_path), exported(BY_HAND[name], tmp_path)
    assert nested(ours) == nested(theirs)
    assert arrows(ours) == arrows(theirs) != []


@pytest.mark.pinned
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", in_turn(sorted(PROGRAMS), EACH))
def test_stored_programs_have_the_same_slices(name: str, tmp_path: Path) -> None:
    source = PROGRAMS[name]
    if name in OTHERWISE or "cuda" in source or "profiler" in source:
        pytest.skip(OTHERWISE.get(name, "of a GPU, or it watches itself"))
    theirs, ours = written(source, tmp_path), exported(source, tmp_path)
    assert nested(ours, sizes=False) == nested(theirs, sizes=False)
    assert arrows(ours) == arrows(theirs)

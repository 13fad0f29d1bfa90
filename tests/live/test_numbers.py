"""The numbers of small tensors in recordings of an installed PyTorch are those of the model, and reading them changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers, numbers_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.memory_reader import MemoryReader
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from truth import programs

pytestmark = pytest.mark.torch

MOST = 16
ROUNDED = {("in_place", "in_place_chain_on_non_leaf")}
"""Programs whose last digits differ, because the model computes in another order."""
SUBJECTS = {"views": 6, "in_place": 2, "math_bits": 9, "setting_memory": 2, "torch_function": 5}
"""Subjects of the stored programs, each with the distance of the programs that are compared."""


def recorded(text: str, engine: EngineName = "torch", most: int = 0) -> Trace:
    outcome = run(Code(text), output=StringIO(), engine=engine_named(engine), values=MOST, most_values=most)
    assert not outcome.trace.notice
    return outcome.trace


def named(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield each name with the numbers of its tensor at the end of the line that binds it, and at the end."""
    lines = [*trace.steps_of(ev.SourceLine), len(trace)]
    for event in (event for event in trace if isinstance(event, ev.NameBound)):
        at = min(line for line in lines if line > event.seq) - 1
        yield event.name, numbers_of(trace, event.tensor, at)
        yield f"{event.name} at the end", numbers_of(trace, event.tensor, len(trace) - 1)


STORED = [
    (subject, name)
    for subject, distance in SUBJECTS.items()
    for name in list(programs.SUBJECTS[subject])[::distance]
    if (subject, name) not in ROUNDED
]


@pytest.mark.parametrize(("subject", "name"), STORED)
def test_numbers_of_names_are_those_on_the_model(subject: str, name: str) -> None:
    text = programs.SUBJECTS[subject][name]
    torch, model = list(named(recorded(text))), list(named(recorded(text, "model")))
    assert torch == model


def at_end_of(trace: Trace, name: str, line: int) -> str:
    """Return the numbers of the tensor with a name at the last step of a line."""
    steps = [event.seq for event in trace if isinstance(event, ev.SourceLine) and event.line == line]
    later = [step for step in trace.steps_of(ev.SourceLine) if step > steps[-1]]
    tensor = index(trace).holder(name, len(trace) - 1)
    assert tensor is not None
    return numbers_of(trace, tensor, min(later, default=len(trace)) - 1)


UNSEEN = """import torch
x = torch.ones(2)
array = x.numpy()
y = torch.zeros(1)
array[0] = 5
y.add_(1)
z = x + 1
w = torch.zeros(1)
w.numpy()[0] = 3
"""


def test_write_by_numpy_is_found_at_the_next_read_and_not_shown_before() -> None:
    trace = recorded(UNSEEN)
    assert [at_end_of(trace, "x", line) for line in (2, 5, 6, 7)] == ["[1.0, 1.0]", "", "", "[5.0, 1.0]"]
    unseen = [event for event in trace if isinstance(event, ev.NumbersRecorded) and event.unseen]
    assert {event.numbers for event in unseen} == {"[5.0, 1.0]", "[3.0]"}
    assert "No recorded call wrote them" in why_here(trace, unseen[0].seq)
    assert numbers_of(trace, unseen[-1].tensor, len(trace) - 1) == "[3.0]", "read again at the end"


UNREADABLE = """import torch, warnings
warnings.simplefilter("ignore")
from torch._subclasses.fake_tensor import FakeTensorMode
sparse = torch.eye(2).to_sparse()
meta = torch.ones(2, device="meta") + 1
nested = torch._nested_tensor_from_tensor_list([torch.ones(2), torch.ones(3)])
with FakeTensorMode():
    fake = torch.ones(2) + 1
seen = []
torch.vmap(lambda row: seen.append(row) or row * 2)(torch.ones(2, 2))
wrapped = seen[0]
smaller = torch.ones(2)
smaller.untyped_storage().resize_(4)
view = smaller.view(1, 2)
big = torch.ones(17) + 1
new = torch.empty(2)
"""


def test_tensors_without_readable_memory_have_no_numbers() -> None:
    trace = recorded(UNREADABLE)
    names = ("sparse", "meta", "nested", "fake", "wrapped", "view", "big", "new")
    assert [name for name in names if at_end_of(trace, name, 16)] == []


def test_memory_is_read_as_tolist_does() -> None:
    torch = installed_torch()
    reader = MemoryReader(torch)
    base = torch.arange(24.0).view(2, 3, 4)
    complex_ = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]])
    tensors: Sequence[object] = (
        *(base[1], base[:, 1, ::2], base.permute(2, 0, 1)[1:3], base[0, 0, 0], base[:1, :1, :1].expand(2, 2, 2)),
        *(complex_.conj(), complex_.conj().imag, complex_.t(), torch.tensor([True, False]), base.to(torch.float16)[0]),
    )
    for tensor in tensors:
        found = reader.of(tensor, 24)
        assert found is not None
        assert found.array.tolist() == tensor.tolist()  # type: ignore[attr-defined]
    assert reader.of(base, 23) is None


QUIET = """import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
torch.manual_seed(0)
class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(func.__name__)
        return func(*args, **(kwargs or {}))
class Calls(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))
class Own(torch.Tensor):
    def size(self):
        print("size")
        return super().size()
x = torch.randn(2, requires_grad=True)
with Functions(), Calls():
    y = (x * 2).sum()
own = torch.ones(2).as_subclass(Own) + 1
with torch.profiler.profile() as profile:
    z = x + 1
print([one.name for one in profile.events()])
copy = torch._lazy_clone(x.detach())
copy + 1
print(torch._C._is_cow_tensor(copy), x._version, torch.rand(1), torch.jit.trace(lambda a: a + 1, torch.ones(2)).code)
y.backward()
print(x.grad)
"""


def test_reading_numbers_changes_neither_the_program_nor_other_events() -> None:
    out, plain = StringIO(), StringIO()
    trace = run(Code(QUIET), output=out, engine=engine_named("torch"), hashes=True, values=MOST).trace
    without = run(Code(QUIET), output=plain, engine=engine_named("torch")).trace
    assert out.getvalue() == plain.getvalue() != ""
    read = (ev.NumbersRecorded, ev.ResultHashed)
    assert [type(event) for event in trace if not isinstance(event, read)] == [type(event) for event in without]
    assert trace.steps_of(ev.NumbersRecorded)


def test_no_numbers_are_recorded_beyond_the_limit() -> None:
    text = "import torch\nx = torch.zeros(2)\nfor step in range(6):\n    x.add_(1)\nx + 1\n"
    trace = recorded(text, most=4)
    assert end_of_numbers(trace) == trace.steps_of(ev.NumbersRecorded)[-1]
    assert len(trace.steps_of(ev.NumbersRecorded)) == 4 + 1


def test_result_that_its_kernel_resizes_has_numbers() -> None:
    trace = recorded("import torch\nx = torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2))\n")
    assert dict(named(trace))["x"] == "[1.0, 0.0]"


def test_hashes_are_those_of_the_model() -> None:
    text = "import torch\nx = torch.arange(6.0).view(2, 3)\ny = x.t() + 1\nz = -y\nw = (z > 0) & (z != z)\n"
    hashes = []
    for engine in ("torch", "model"):
        trace = run(Code(text), output=StringIO(), engine=engine_named(engine), hashes=True).trace  # type: ignore[arg-type]
        hashes.append([event.hash for event in trace if isinstance(event, ev.ResultHashed)])
    assert hashes[0]
    assert set(hashes[0]) >= set(hashes[1][-3:])

"""The numbers of a tensor as of a step equal those of the machine's own tensor at that step."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.device.array_library import on_host
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.core.record.recorders.number_recorder import text_of
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers, numbers_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.running.program import run
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.program_source import Code
from dispatchviz.trace import Trace
from dispatchviz.views.panes.tensors_pane import rows as tensor_rows
from tests.amounts import some
from tests.cuda_kinds import CUDA_KINDS, STAND_IN, cuda_is
from truth import programs
from truth.observers.runs import in_new_thread

MOST = 16


class Watching(ProgramRecorder):
    """A recorder that looks at the numbers of the tensors of a program's variables at each note."""

    variables: dict[str, Any]
    made: Watching

    def __init__(self) -> None:
        super().__init__()
        Watching.made = self
        self.stood: list[dict[int, str]] = []

    def begin(self) -> None:
        super().begin()
        self._listen()

    def distinguish_threads(self) -> None:
        super().distinguish_threads()
        self._listen()

    def _listen(self) -> None:
        note = self.note

        def noted(facts: tuple[Any, ...]) -> None:
            note(facts)
            values = [value for value in Watching.variables.values() if isinstance(value, Tensor)]
            stood = {each._number - self.first_tensor: live(each) for each in values}
            self.builder.read(self.notes)
            self.stood += [stood] * (len(self.builder.events) - len(self.stood))

        self.note = noted


def live(tensor: Tensor) -> str:
    array = None if tensor._storage.buffer is None else resolved(tensor)
    return "" if array is None else text_of(on_host(array))


def watched(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[Trace, list[dict[int, str]]]:
    """The trace of a program, and what the tensors of its variables held at each event."""

    def record() -> Trace:
        Watching.variables = {"torch": torch, "__name__": "__main__"}
        quiet = contextlib.redirect_stdout(io.StringIO())
        with dispatchviz.record(values=MOST) as trace, contextlib.suppress(Exception), quiet:
            exec(compile(source.replace("import torch\n", "", 1), "watched", "exec"), Watching.variables)
        return trace

    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", Watching)
    trace: Trace = in_new_thread(record)
    assert Watching.made.failed is None
    return trace, Watching.made.stood


SUBJECTS = [
    "forum", "views", "in_place", "geometry", "setting_memory", "autograd", "inference", "modes", "functions",
    "training", "conversions", "vmap", "func", "math_bits", "functionalization", "indexing", "random", "errors",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("subject", some(list(SUBJECTS), 2))
def test_recorded_numbers_are_those_of_the_tensor(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    said = untold = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::3]:
        trace, stood = watched(monkeypatch, source)
        for at, tensors in enumerate(stood):
            if isinstance(trace[at], ev.SourceLine):  # noted when the line does something, which may be done already
                continue
            for number, numbers in tensors.items():
                told = numbers_of(trace, number, at)
                assert told in ("", numbers), (name, at, trace[at], number)
                said += bool(told)
                untold += not told and isinstance(trace[at], ev.BindingEntered) and 0 < len(numbers) < MOST
    assert said > 2 * untold, "of most small tensors they are told"


PROGRAM = """
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
row = x[0]
x.add_(1)
big = torch.ones(100)
part = big[:2]
big.zero_()
bits = torch.tensor([1 + 2j]).conj()
half = torch.tensor([0.1], dtype=torch.bfloat16)
y = torch.zeros(2)
y.data = torch.ones(2, 1)
z = torch.empty(2)
with torch.no_grad():
    row.mul_(2)
mine = torch.ones(1)
array = mine.numpy()
array[0] = 7
end = torch.ones(1)
"""


def after(trace: Trace, number: int) -> int:
    """The last step of a line of the program above."""
    later = [event.seq for event in trace if isinstance(event, ev.SourceLine) and event.line > number]
    return min(later, default=len(trace)) - 1


def test_writes_reach_all_that_is_on_the_memory() -> None:
    trace = run("-", (), io.StringIO(), b"import torch" + PROGRAM.encode(), values=MOST).trace
    held = {event.name: event.tensor for event in trace if isinstance(event, ev.NameBound)}

    def said(name: str, line: int) -> str:
        return numbers_of(trace, held[name], after(trace, line))

    last = len(PROGRAM.splitlines())
    assert said("x", 2) == "[[1.0, 2.0], [3.0, 4.0]]"
    assert said("row", 3) == "[1.0, 2.0]"
    assert said("row", 4) == "[2.0, 3.0]", "its base was written to"
    assert said("x", 14) == "[[4.0, 6.0], [4.0, 5.0]]", "its view was written to"
    assert said("part", 7) == "[0.0, 0.0]", "its base is too big to be told, and was written to"
    assert said("big", last) == ""
    assert said("bits", last) == "[(1-2j)]"
    assert said("half", last) == "[0.100098]"
    assert said("y", 10) == "[0.0, 0.0]"
    assert said("y", 11) == "[[1.0], [1.0]]"
    assert said("z", last) == "", "nobody has written to it"
    assert said("mine", 15) == "[1.0]"
    assert said("mine", 16) == said("mine", last) == "", "NumPy has its memory in its hands"


def test_no_numbers_are_recorded_by_default() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2)
    assert not trace.steps_of(ev.NumbersRecorded)
    assert "NumbersRecorded" not in trace.columns.kind_names
    assert numbers_of(trace, 0, len(trace) - 1) == ""
    assert x is not None


def test_numbers_are_kept_in_files() -> None:
    with dispatchviz.record(values=MOST) as trace:
        torch.ones(2).add_(1)
    for suffix in (".dvtrace", ".jsonl"):
        assert list(Trace.decoded(trace.encoded(suffix), "t")) == list(trace)


@pytest.mark.parametrize("kind", CUDA_KINDS)
def test_wait_for_a_gpu_is_reported(kind: str) -> None:
    with cuda_is(kind):
        x, host = torch.ones(2, device="cuda"), torch.ones(2)
        with dispatchviz.record(values=MOST) as trace:
            host * 2, x * 2
    told = [event for event in trace if isinstance(event, ev.NumbersRecorded)]
    cuda = [index(trace).tensors[event.tensor].device == "cuda:0" for event in told]
    assert True in cuda
    assert False in cuda
    assert [event.waited for event in told] == [where and kind != "emulated" for where in cuda]
    assert ["The recording waited" in why_here(trace, event.seq) for event in told] == [event.waited for event in told]


@pytest.mark.parametrize("kind", [STAND_IN])
def test_recording_without_numbers_copies_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with cuda_is(kind):
        x = torch.ones(2, device="cuda", requires_grad=True)
        monkeypatch.setattr(type(x._array), "get", pytest.fail)
        with dispatchviz.record():
            (x * x).sum().backward()
        with pytest.raises(pytest.fail.Exception), dispatchviz.record(values=MOST):
            x * 2


LOOP = """import torch
x = torch.zeros(2)
for step in range(6):
    x.add_(1)
big = torch.ones(2)
"""


def test_no_numbers_are_recorded_beyond_the_limit() -> None:
    whole = run(Code(LOOP), output=io.StringIO(), values=MOST).trace
    trace = run(Code(LOOP), output=io.StringIO(), values=MOST, most_values=3).trace
    assert end_of_numbers(whole) is None
    end = end_of_numbers(trace)
    assert end is not None
    assert "which is the limit" in why_here(trace, end)
    assert all(numbers_of(trace, tensor, end) == "" for tensor in index(trace).tensors)
    assert {numbers_of(trace, 0, at) for at in range(len(trace))} < {
        numbers_of(whole, 0, at) for at in range(len(whole))
    }
    assert trace.steps_of(ev.NumbersRecorded)[-1] == end
    told = "\n".join(row.plain for row in tensor_rows(trace, len(trace) - 1, 80))
    assert f"No numbers are recorded from step {end} on" in told
    assert "from step" not in "\n".join(row.plain for row in tensor_rows(trace, end - 1, 80))
    without = [type(event) for event in whole if not isinstance(event, ev.NumbersRecorded)]
    assert without == [type(event) for event in trace if not isinstance(event, ev.NumbersRecorded)]
    assert without == [type(event) for event in run(Code(LOOP), output=io.StringIO()).trace], "recorded as without them"


@pytest.mark.parametrize("only", ["line=3", "line=5", "op=mul_", "op=add", "step=0-40"])
def test_partial_recording_shows_no_outdated_numbers(only: str) -> None:
    text = "import torch\nx = torch.ones(2)\ny = x + 1\nx.mul_(3)\nz = x + y\ny.data = z\nx.unsqueeze_(0)\nw = y + x\n"
    whole, part = [
        run(Code(text), output=io.StringIO(), values=MOST, only=kept).trace for kept in (None, read_only([only]))
    ]
    assert 0 < len(part) < len(whole)
    for name in "xyzw":
        tensor, end = holder(whole, name), len(part) - 1
        assert numbers_of(part, holder(part, name), end) in ("", numbers_of(whole, tensor, len(whole) - 1)), name


def holder(trace: Trace, name: str) -> int:
    found = index(trace).holder(name, len(trace) - 1)
    assert found is not None
    return found

"""The events of a recording are made when they are first read, and are those that were made at its end before."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.event_builder import EventBuilder
from dispatchviz.core.record.events import KernelReturned, NodeStarted, SourceLine
from dispatchviz.core.seam import recorder
from dispatchviz.running.recording import INTERRUPTED
from dispatchviz.trace import Trace

HELPER = """\
def doubled(x):
    return x * 2
"""

PROGRAM = """\
import gc, os, sys
from pathlib import Path
from unittest import mock
import dispatchviz
from dispatchviz import torch
import helper

AT_ONCE = sys.argv[1] == "at once"
traces = []

def ended(trace):
    if AT_ONCE:
        len(trace), trace.header
    traces.append(trace)

def chain(x):
    return torch.add(x, x).exp().sum()

def recorded(function, *args):
    with dispatchviz.record() as trace:
        function(*args)
    ended(trace)

x = torch.ones(2, requires_grad=True)
recorded(chain, x)

# an installed kernel, a fallback and a fallthrough come and go
library = torch.library.Library("aten", "IMPL")
library.impl("exp", lambda x: x.clone(), "CPU")
recorded(chain, x)
library.impl("add.Tensor", torch.library.fallthrough_kernel, "AutogradCPU")
recorded(chain, x)
library._destroy()
recorded(chain, x)
fallback = torch.library.Library("_", "IMPL")
fallback.fallback(lambda op, *args, **kwargs: op(*args, **kwargs), "FPGA")
recorded(chain, x)
fallback._destroy()

# a new operator is called and removed, and defined again with other parameters
for parameters in ("Tensor a, Tensor b", "Tensor b, Tensor other"):
    with torch.library._scoped_library("mine", "FRAGMENT") as own:
        own.define(f"op({parameters}) -> Tensor")
        own.impl("op", lambda a, b: a + b, "CompositeExplicitAutograd")
        recorded(torch.ops.mine.op, x.detach(), x.detach())

@torch.library.custom_op("mine::custom", mutates_args=())
def custom(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

recorded(custom, x.detach())
custom.register_fake(lambda x: torch.empty_like(x))
custom.register_kernel("cpu")(lambda x: x + 1)
recorded(custom, x.detach())

# registrations change within a recording
with dispatchviz.record() as trace:
    chain(x)
    within = torch.library.Library("aten", "IMPL")
    within.impl("exp", lambda x: x.clone(), "CPU")
    chain(x)
ended(trace)
within._destroy()

# tensors and Nodes that a recording has met are freed, and others are made
y = torch.ones(3, requires_grad=True)
with dispatchviz.record() as trace:
    z = torch.mul(y, y)
    w = z.view(3, 1)
    w.sum().backward(retain_graph=True)
ended(trace)
z.detach().add_(1)
del z, w
gc.collect()
recorded(chain, y)

# a Function gets another name and another backward
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

def other(ctx, gradient):

    return gradient

applied = Twice.apply(x).sum()
with mock.patch.object(Twice, "backward", staticmethod(other)):
    with dispatchviz.record() as trace:
        applied.backward()
    ended(trace)
    with dispatchviz.record() as trace:
        Twice.apply(x).sum().backward()
    ended(trace)

# a recording ends within an operator, whose kernel goes on
recording = dispatchviz.record()

def ends(x):
    result = x + 1
    recording.__exit__(None, None, None)
    ended(trace)
    return result * 2

with torch.library._scoped_library("mine", "FRAGMENT") as own:
    own.define("ends(Tensor a) -> Tensor")
    own.impl("ends", ends, "CompositeExplicitAutograd")
    trace = recording.__enter__()
    torch.ops.mine.ends(x.detach())

# files change and the program works elsewhere
with dispatchviz.record() as trace:
    helper.doubled(x)
ended(trace)
Path(helper.__file__).write_text("changed\\n")
with torch.library._scoped_library("mine", "FRAGMENT") as own:
    exec(compile("def silent(x):\\n    return 1\\n", os.path.abspath("kernels.py"), "exec"))
    own.define("silent(Tensor a) -> int")
    own.impl("silent", silent, "CompositeExplicitAutograd")
    with dispatchviz.record() as trace:
        torch.ops.mine.silent(x)
    ended(trace)
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
for trace in traces:
    sys.stdout.buffer.write(trace.encoded())
"""


def written(folder: Path, when: str) -> list[bytes]:
    """The lines of the files of the program's traces."""
    folder.joinpath("helper.py").write_text(HELPER)
    folder.joinpath("program.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "program.py", when]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    folder.joinpath("elsewhere").rmdir()
    assert (ended.returncode, ended.stderr.decode()) == (0, "")
    return ended.stdout.splitlines()


def test_events_that_are_made_later_are_the_same(tmp_path: Path) -> None:
    at_once, later = (written(tmp_path, when) for when in ("at once", "later"))
    assert sum(line.startswith(b'{"format"') for line in at_once) == 17
    for number, (line, other) in enumerate(zip(at_once, later, strict=True)):
        assert (number, other) == (number, line)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of items of notes each time that notes are read. Those of other tests' traces are read before."""
    recorder.registrations_change()
    found: list[int] = []
    read = EventBuilder.read

    def counted(builder: EventBuilder, notes: list[Any]) -> None:
        found.append(len(notes))
        read(builder, notes)

    monkeypatch.setattr(EventBuilder, "read", counted)
    return found


def test_events_are_made_once_when_they_are_read(reads: list[int]) -> None:
    with dispatchviz.record() as trace:
        torch.ones(2) + 1
    assert reads == []
    assert len(trace)
    assert len(reads) == 1
    assert trace.header.sources
    assert trace.notice == ""
    assert len(list(trace)) == len(trace)
    assert len(reads) == 1


def test_header_and_notice_also_make_them(reads: list[int]) -> None:
    for part in ("header", "notice", "columns"):
        with dispatchviz.record() as trace:
            torch.ones(2)
        getattr(trace, part)
    assert len(reads) == 3


def recorded() -> Trace:
    with dispatchviz.record() as trace:
        torch.ones(2)
    return trace


def test_unread_trace_that_is_dropped_is_not_read_when_registrations_change(reads: list[int]) -> None:
    recorded()
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("exp", lambda x: x, "FPGA")
    assert reads == []


def test_change_of_registrations_reads_all_traces_once(reads: list[int]) -> None:
    traces = [recorded(), recorded()]
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("exp", lambda x: x, "FPGA")
    assert len(reads) == 2
    assert all(any(isinstance(event, KernelReturned) for event in trace) for trace in traces)
    assert len(reads) == 2


def test_threads_that_read_at_the_same_time_find_the_same_events() -> None:
    with dispatchviz.record() as trace:
        for _ in range(200):
            torch.ones(2) + 1
    found: list[int] = []
    ready = threading.Barrier(4)

    def read() -> None:
        ready.wait()
        found.append(sum(isinstance(event, SourceLine) for event in trace.events))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert set(found) == {found[0]}
    assert found[0] == 200


def test_notice_says_that_the_reading_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        (x * x).sum().backward()

    def interrupt(builder: EventBuilder, tensor: int, node: int, output_nr: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EventBuilder, "history_set", interrupt)
        with pytest.raises(KeyboardInterrupt):
            len(trace)
    assert trace.notice == INTERRUPTED
    assert len(trace)
    assert not any(isinstance(event, NodeStarted) for event in trace)

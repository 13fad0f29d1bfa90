"""The recorded line of each event, and the lines from which its function was called, are Python's current lines.

``lines_oracle.py`` compares them at each event, over a sample of all programs, the examples and the training loops, and
over programs that come back to a line in every possible way.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.running import engines, program, recording
from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.process_state import clean_process_state
from tests.amounts import amount, some
from tests.running.lines_oracle import Difference, Watching
from truth.programs import PROGRAMS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "training").glob("*.py")])
CALLS_BACK = re.compile(r"^\s*(def|class|async def) |lambda|\byield\b", re.MULTILINE)
"""Programs with code that is called from elsewhere. One in three of them runs, and one in ten of the others."""
SLICES = 4

EVERY_WAY_BACK = {
    "a call within a call": """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                y = x * 2
                return y.sum()
        model = Net()
        model(torch.ones(3, requires_grad=True)).backward()
        """,
    "properties, length, iteration, operators from C": """
        import operator, functools
        import torch
        def given(t):
            s = t * 2
            return s
        x = torch.ones(2, 2, requires_grad=True)
        given(x).sum().backward(); x.grad
        given(x).T
        len(given(x))
        list(given(x))
        [a, b] = given(x)
        functools.reduce(operator.add, map(given, [x, x]))
        sorted([given(x).sum(), x.sum()], key=lambda t: t.item())
        del a, b
        """,
    "generators": """
        import torch
        def numbers():
            try:
                x = torch.ones(2)
                yield x + 1
                yield from (x + n for n in range(2))
            finally:
                torch.zeros(2)
        for n in numbers():
            if n[0] > 5:
                continue
            n = n * 2
        g = numbers()
        next(g).sum(); g.close()
        total = sum(n.sum() for n in numbers() if n[0] > 0)
        """,
    "coroutines": """
        import asyncio
        import torch
        async def part(n):
            x = torch.ones(n)
            await asyncio.sleep(0)
            return x + n
        async def whole():
            a, b = await asyncio.gather(part(1), part(2))
            return await part(3) + a
        class Held:
            async def __aenter__(self):
                return torch.ones(1)
            async def __aexit__(self, *_):
                torch.zeros(1)
        async def held():
            async with Held() as t:
                t = t + 1
            return [t async for t in several()]
        async def several():
            yield torch.ones(2)
            yield torch.ones(3)
        asyncio.run(whole()).sum(); asyncio.run(held())
        """,
    "decorators, class bodies, with, finally": """
        import contextlib
        import torch
        def twice(f):
            torch.ones(2)
            def run(*args):
                f(*args)
                return f(*args) + 1
            return run
        @twice
        @twice
        def f(x):
            return x * 2
        class Holder:
            weight = f(torch.ones(2))
            def __init_subclass__(cls):
                torch.ones(1)
            def __enter__(self): return self.weight + 1
            def __exit__(self, *_): torch.zeros(2)
        class Other(Holder):
            weight = Holder.weight * 2
        def held():
            with Holder() as h, torch.no_grad(), \\
                    Other():
                return h * 3
        held().sum()
        try:
            with torch.inference_mode():
                held().nonsense
        except AttributeError:
            f(torch.ones(2))
        finally:
            f(torch.ones(2)).sum()
        """,
    "hooks, Functions, handlers, kernels": """
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                return func(*args, **kwargs)
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * 2 * x
        def hook(g):
            h = g * 2
            return h
        x = torch.ones(2, requires_grad=True)
        y = Square.apply(x)
        y.register_hook(hook); x.register_hook(lambda g: g + 1)
        with Mode():
            y = y + 1
        y.sum().backward()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t + 0):
            z = y.exp()
        torch.autograd.grad(z.sum(), x)
        lib = torch.library.Library("dvz_lines", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        def kernel(t):
            return t.clone()
        lib.impl("f", kernel, "CPU")
        torch.ops.dvz_lines.f(torch.ones(2)).add_(1)
        """,
    "errors that are caught": """
        import torch
        def bad(x):
            y = x + 1
            return y @ torch.ones(7)
        worse = lambda x: bad(x)
        for f in bad, worse:
            try:
                f(torch.ones(2)).sum()
            except RuntimeError as error:
                print(type(error))
                torch.ones(2)
        """,
}


@contextlib.contextmanager
def _asked() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(engines, "ProgramRecorder", Watching)
        patch.setattr(recording, "ProgramRecorder", Watching)
        yield


def _traced(source: str, folder: Path) -> tuple[int, list[Difference]]:
    """Run a program as ``dispatchviz trace`` does. Return the number of events and the wrong ones."""
    file = folder / "p.py"
    file.write_text(source)
    Watching.file = str(file)
    trace = program.run(str(file), (), io.StringIO()).trace
    assert trace.notice == ""
    assert len(trace) == len(Watching.newest.stood)
    return len(trace), Watching.newest.differences(trace)


def _recorded(source: str, folder: Path) -> tuple[int, list[Difference]]:
    """Run a program with ``record()``, which compiles nothing. Return the same."""
    file = folder / "p.py"
    file.write_text(source)
    Watching.file = str(file)
    code = compile(source, str(file), "exec")
    with contextlib.redirect_stdout(io.StringIO()), torch_is_the_model(), clean_process_state():
        try:
            with recording.record() as trace:
                exec(code, {"__name__": "__main__"})
        except Exception:  # what programs raise is compared elsewhere
            pass
    return len(trace), Watching.newest.differences(trace)


def _sample() -> list[tuple[str, str]]:
    programs = [(name, source) for name, source in PROGRAMS.items()]
    one_of = {True: amount(12, 3), False: amount(40, 10)}
    some = [item for i, item in enumerate(programs) if i % one_of[CALLS_BACK.search(item[1]) is not None] == 0]
    return [*some, *((path.name, path.read_text()) for path in EXAMPLES)]


@pytest.mark.parametrize("part", some(range(SLICES), SLICES))
def test_every_event_of_a_traced_program_is_recorded_under_the_line_that_python_runs(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    events, found, sample = 0, {}, _sample()[part::SLICES]
    with _asked():
        for name, source in sample:
            (tmp_path / name).mkdir()
            count, differences = _traced(source, tmp_path / name)
            events += count
            if differences:
                found[name] = differences[0]
    print(f"{len(sample)} programs, {events} events compared")
    assert found == {}
    assert events > 10_000


@pytest.mark.parametrize("way", EVERY_WAY_BACK)
def test_after_every_return_to_a_line_it_is_the_line_that_is_recorded(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with _asked():
        events, differences = _traced(dedent(EVERY_WAY_BACK[way]).lstrip("\n"), tmp_path)
    assert differences == []
    assert events > 50


def test_a_frame_of_the_engine_at_the_address_of_an_earlier_one_is_another_one(tmp_path: Path) -> None:
    with _asked():
        for _ in range(3):
            _, differences = _recorded(PROGRAMS["func_vjp"], tmp_path)
            assert [one for one in differences if isinstance(one.event, ev.BackwardStarted)] == []


SHARES = 20
"""Shares of the stored programs, for parallel tests."""


NOT_FOUND = (ev.TensorCreated, ev.NodeCreated, ev.NodeFinished)
"""Events that ``record()`` puts under an earlier line: the state of a generator as a tensor, a Function's Node made by
hand, the end of a Function's Node. They are noted in passing, without a look at the frames. The same holds for each
Node that is freed.
"""


@pytest.mark.parametrize("part", some(range(SHARES), SHARES // 2))
def test_every_event_of_a_recording_is_recorded_under_the_line_that_python_runs(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = [*(dedent(source).lstrip("\n") for source in EVERY_WAY_BACK.values()), *PROGRAMS.values()][part::SHARES]
    events, late = 0, []
    with _asked():
        for number, source in enumerate(sources):
            (tmp_path / str(number)).mkdir()
            count, differences = _recorded(source, tmp_path / str(number))
            events += count
            late += [difference for difference in differences if type(difference.event) is not ev.NodeDeleted]
    print(f"{len(sources)} programs, {events} events compared, {len(late)} recorded a line late")
    assert [difference for difference in late if not isinstance(difference.event, NOT_FOUND)] == []
    assert len(late) * 10_000 < events

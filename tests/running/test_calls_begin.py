"""Lines with which a call of a function begins: as many as Python calls, in the same order."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from tests.explain.programs import traced

PROGRAMS = {
    "two calls on one line": """
        def twice(x):
            y = x * 2
            return y
        z = twice(twice(x))
        """,
    "a loop": """
        def often(x):
            for _ in range(2): x = x * 2
            return x
        for _ in range(2): x = often(x)
        z = often(x) + often(x)
        """,
    "a function that begins with a loop": """
        def doubled(x):
            while x.sum() < 9:
                x = x * 2
            return x
        z = doubled(x), doubled(x)
        """,
    "a function on one line": """
        def twice(x): return x * 2
        def often(n):
            while n: n = n - 1
        z = twice(x) + twice(x); often(2), often(0)
        """,
    "a docstring and nothing else": """
        def nothing():
            "Says so."
        def said(x):
            "Says so, and does it."
            return x * 2
        nothing(), said(x), said(x)
        """,
    "recursion": """
        def power(x, n):
            if n == 0:
                return x
            return power(x, n - 1) * power(x, n - 1)
        z = power(x, 2)
        """,
    "errors": """
        def fails(x):
            x = x * 2
            raise ValueError
        def safe(f, x):
            try:
                return f(x)
            except ValueError:
                return x * 3
        z = safe(fails, x) + safe(fails, x)
        """,
    "a generator": """
        def half(x):
            return x / 2
        def each(x):
            yield half(x)
            yield half(x) + half(x)
        z = sum(each(x)) + sum(each(x))
        """,
    "a lambda and comprehensions": """
        def twice(x):
            return x * 2
        z = [twice(x) for _ in range(2)]
        z = sum(twice(x) for _ in range(2))
        z = (lambda x:
            twice(x))(x)
        """,
    "a class": """
        class Net(torch.nn.Module):
            one = torch.ones(1)
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            def forward(self, x):
                return self.inner(x)
        z = torch.nn.Sequential(Net(), Net())(x)
        """,
    "a hook": """
        def hook(grad):
            if True:
                return grad * 2
        y = x * 2
        y.register_hook(hook), x.register_hook(hook)
        (y * y).sum().backward()
        """,
}
BEGIN = "import torch\nx = torch.ones(2, requires_grad=True)\n"


def source_of(name: str) -> str:
    return BEGIN + inspect.cleandoc(PROGRAMS[name]) + "\n"


def called(source: str) -> list[str]:
    """Return the functions of a program that Python calls and that run a line, in order, as Python reports them."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_flags & inspect.CO_GENERATOR
        is_seen = is_function and code.co_name != "nothing" and not code.co_name.startswith("<")
        if event == "call" and code.co_filename == "p.py" and is_seen:
            found.append(code.co_qualname)

    code = compile(source.replace("import torch", "from dispatchviz import torch"), "p.py", "exec")
    sys.setprofile(profile)
    try:
        exec(code, {"__name__": "p"})
    finally:
        sys.setprofile(None)
    return found


def lines(trace: Trace) -> list[ev.SourceLine]:
    return [line for step in trace.steps_of(ev.SourceLine) if isinstance(line := trace[step], ev.SourceLine)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_says_that_a_call_begins_as_often_as_python_calls(name: str) -> None:
    source = source_of(name)
    begun = [line.function for line in lines(traced(source)) if line.begins]
    assert begun == called(source)
    assert begun


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_begins_with_the_first_line_of_the_function(name: str) -> None:
    source = source_of(name)
    text, first = source.split("\n"), dict[str, int]()
    for line in lines(traced(source)):
        if line.begins:
            assert not line.resumed
            assert first.setdefault(line.function, line.line) == line.line
    for function, number in first.items():
        above = text[number - 2] if f"def {function.rpartition('.')[2]}(" not in text[number - 1] else text[number - 1]
        assert f"def {function.rpartition('.')[2]}(" in above or above.strip().startswith('"')


def test_columns_have_it_too() -> None:
    trace = traced(source_of("recursion"))
    places = trace.columns.line_places
    assert [places[at].begins for at in trace.columns.places] == [line.begins for line in lines(trace)]


def test_lines_of_a_generator_begin_no_call() -> None:
    """Two generators that begin on one line may alternate, and it is not noted which one continues."""
    trace = traced(source_of("a generator"))
    assert {line.function for line in lines(trace) if not line.begins} == {"", "each"}

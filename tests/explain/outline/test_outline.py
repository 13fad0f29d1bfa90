"""Check that every step has one place in the tree, for any unfolded items, and that iterations are those that Python
ran.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dispatchviz.core.record.events import ModuleCalled, NameBound, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.levels import ALL, DEFAULT, LEVELS
from dispatchviz.explain.outline.line_rows import RowKind, line_rows
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.places import iteration_named, line_named
from dispatchviz.explain.outline.row_texts import heading, row_texts
from dispatchviz.explain.trace_index.folded_steps import profiler_calls
from tests.amounts import amount
from tests.explain.programs import traced
from tests.tui.synthetic import nested

ROOT = Path(__file__).parents[3]

MANY_THINGS = """
    import torch
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y
        @staticmethod
        def backward(ctx, g):
            return g * 2
    def block(x):
        h = torch.relu(x)
        return x + h
    def blocks(x):
        for _ in range(2):
            x = block(x)
        return x
    x = torch.ones(2, requires_grad=True)
    y = Twice.apply(x)
    y.register_hook(lambda g: g + 1)
    y.sum().backward()
    for i in range(3):
        z = blocks(x) + blocks(x)
        with torch.no_grad():
            z = z + 1
        with torch.inference_mode():
            w = torch.ones(2)
            for j in range(2):
                w = w + j
    n = 0
    while n < 2:
        n += 1
        if n == 1:
            continue
        w = x + n
    f = torch.func.vmap(lambda a: a * a)
    print(f(torch.ones(3)))
    def items():
        for k in range(2):
            yield x * k
        return
    for item in items():
        u = item + 1
    lib = torch.library.Library("ours", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.clone(), "CPU")
    torch.ops.ours.f(x)
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(MANY_THINGS)


def descended(outline: Outline, item: int | None = None) -> Iterator[int]:
    """Yield all steps in the tree, from top to bottom."""
    for child in outline.children(item):
        if not outline.is_merged(child):
            yield outline.begin(child)
        if outline.has_children(child):
            yield from descended(outline, child)


def check(outline: Outline) -> None:
    """Assert that every step of the level is in the tree once, and that items know their parents."""
    assert list(descended(outline)) == list(outline.steps)
    check_item(outline, None)


def check_item(outline: Outline, item: int | None) -> None:
    end = -1
    for child in outline.children(item):
        assert outline.begin(child) > end
        end = outline.end(child)
        assert outline.around(child) == item
        assert item is None or outline.begin(item) <= outline.begin(child) <= end <= outline.end(item)
        assert outline.at(outline.begin(child))
        if outline.has_children(child):
            check_item(outline, child)


MODULES = """
    import torch
    from torch import nn
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)
        def forward(self, x):
            for _ in range(2):
                x = self.fc(x).relu()
            return x
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        loss = net(torch.ones(2, 4)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_module_row_has_name_class_and_input() -> None:
    outline = Outline(traced(MODULES), DEFAULT)
    items = [item for item in descended(outline) if item >= 0 and isinstance(outline.trace[item], ModuleCalled)]
    rows = [row_texts(outline, item) for item in items[: len(items) // 2]]
    inner = [f"blocks.{block}{part}" for block in range(2) for part in ("  Block", ".fc  Linear", ".fc  Linear")]
    assert [name for (name, _), _ in rows] == ["net  Net", *inner]
    counts = [[text for text, _ in facts] for _, facts in rows]
    assert counts[0] == ["8 operator calls", "○ 16 Nodes"]
    assert counts[1] == ["4 operator calls", "○ 8 Nodes"]
    assert counts[2][0] == "linear → AutogradCPU (composite: t, addmm)"
    assert counts[3] == ["linear → AutogradCPU (composite: t, addmm)", "○ TBackward0", "○ AddmmBackward0"]


def test_iterations_of_a_forward_are_rows_within_the_module() -> None:
    outline = Outline(traced(MODULES), DEFAULT)
    block = next(
        item for item in descended(outline) if item >= 0 and row_texts(outline, item)[0][0] == "blocks.0  Block"
    )
    loop, last = outline.children(block)
    assert [heading(outline, item) for item in outline.children(loop)] == ["iteration 1", "iteration 2"]
    assert row_texts(outline, last)[0][0] == "return x"


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_every_step_of_modules_has_one_place(level: int) -> None:
    check(Outline(traced(MODULES), level))


def test_profiler_calls_are_rows_only_at_the_last_level() -> None:
    trace = traced(MODULES)
    calls = profiler_calls(trace)
    assert len(calls) == 8, "two for each zero_grad and each step"
    shown = [[step for step in calls if step in Outline(trace, level).steps] for level in range(len(LEVELS))]
    assert shown == [[]] * ALL + [list(calls)]
    texts = str([row_texts(outline, item) for outline in [Outline(trace, DEFAULT)] for item in descended(outline)])
    assert "zero_grad" in texts
    assert "_record_function" not in texts


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_every_step_has_one_place(trace: Trace, level: int) -> None:
    check(Outline(trace, level))


@pytest.mark.long
@pytest.mark.parametrize("name", ["forum", "mlp", "vmap", "autocast", "inplace_error", "custom_operator", "no_grad"])
def test_every_step_of_an_example_has_one_place(name: str) -> None:
    trace = traced((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    for level in range(len(LEVELS)):
        check(Outline(trace, level))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=40), st.integers(0, ALL))
def test_every_step_of_any_nesting_has_one_place(depths: list[int], level: int) -> None:
    check(Outline(nested(depths), level))


def test_unfolded_items_are_visible(trace: Trace) -> None:
    outline = Outline(trace, DEFAULT)
    for at in range(0, len(trace), 7):
        rows = outline.rows(frozenset(), at)
        assert list(rows) == sorted(set(rows))
        assert at in rows
        for number in range(len(rows)):
            row = rows.row(number)
            assert outline.begin(row.item) == rows[number]
            assert row.depth == sum(not outline.is_merged(each) for each in outline.path(rows[number]))
    everything = frozenset(item for step in outline.steps for item in (*outline.at(step), *outline.path(step)))
    assert list(outline.rows(everything, 0)) == list(outline.steps)


def test_folded_items_are_not_visible(trace: Trace) -> None:
    outline = Outline(trace, DEFAULT)
    assert list(outline.rows(frozenset(), 0)) == [outline.begin(item) for item in outline.children(None)]


def iterations(trace: Trace) -> dict[int, int]:
    """Return the number of iterations of each loop head's line, for all loops on it together."""
    rows, found = line_rows(trace), dict[int, int]()
    for head, count in rows.counts.items():
        event = trace[rows.begins[head]]
        assert isinstance(event, SourceLine)
        found[event.line] = found.get(event.line, 0) + count
    return found


def test_each_loop_has_its_iterations(trace: Trace) -> None:
    text = textwrap.dedent(MANY_THINGS).split("\n")
    told = {text[line - 1].strip(): count for line, count in iterations(trace).items()}
    assert told == {
        "for _ in range(2):": 2 * 3 * 2,
        "for i in range(3):": 3,
        "for j in range(2):": 3 * 2,
        "while n < 2:": 2,
        "for k in range(2):": 2,  # a resumed generator continues its loop
        "for item in items():": 2,
    }


SUITES = st.deferred(lambda: st.lists(st.one_of(CALLS, LOOPS), min_size=1, max_size=3))
CALLS = st.sampled_from(["x = torch.neg(x)", "n = 1", "x = f(x)", "x = f(x) + f(x)", "f(torch.sin(x))"])
LOOPS = st.tuples(st.sampled_from(["for", "while", "break"]), st.integers(0, 3), SUITES)


DEEPEST = "i15"
"""The depth limit of nested blocks in Python, which is 20."""


def source(suite: list[object], indent: int = 0) -> Iterator[str]:
    """Yield the lines of a program of nested loops."""
    blanks = "    " * indent
    for part in suite:
        if isinstance(part, str):
            yield blanks + part
            continue
        kind, iterations, inner = part  # type: ignore[misc]
        if kind == "while":
            yield f"{blanks}i{indent} = 0"
            yield f"{blanks}while i{indent} < {iterations}:"
            yield f"{blanks}    i{indent} += 1"
        else:
            yield f"{blanks}for i{indent} in range({iterations}):"
        yield f"{blanks}    ran[{indent}] += 1"
        yield from source(inner, indent + 1)
        if kind == "break":
            yield f"{blanks}    if i{indent} == 1:"
            yield f"{blanks}        break"


@pytest.mark.long
@settings(max_examples=amount(10, 60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SUITES)
def test_iterations_equal_those_that_python_ran(suite: list[object]) -> None:
    begin = ["import torch", "ran = [0] * 20", "def f(x):", "    h = x * 2", "    return h"]
    program = "\n".join([*begin, "x = torch.ones(2)", *source(suite)])
    assume(DEEPEST not in program)
    space: dict[str, list[int]] = {}
    exec(compile(program.replace("import torch", "from dispatchviz import torch"), "p.py", "exec"), space)
    trace = traced(program)
    rows, told = line_rows(trace), [0] * 20
    depths = {at: (len(text) - len(text.lstrip())) // 4 for at, text in enumerate(program.split("\n"), 1)}
    for head, count in rows.counts.items():
        event = trace[rows.begins[head]]
        assert isinstance(event, SourceLine)
        told[depths[event.line]] += count
    assert told == space["ran"]
    check(Outline(trace, DEFAULT))


def test_a_trace_of_an_earlier_version_has_the_same_rows(trace: Trace) -> None:
    rows = line_rows(trace)
    without = Trace(trace.header, trace.events)
    vars(without.columns).update(places=(), callers=(), line_places=())
    assert list(line_rows(without).begins) == list(rows.begins)
    assert list(line_rows(without).ends) == list(rows.ends)


def test_iterations_and_lines_are_found_by_number(trace: Trace) -> None:
    outline = Outline(trace, DEFAULT)
    assert iteration_named(outline, 0, 9) == "There is no iteration 9: the loop has 3"
    assert iteration_named(outline, 0, 0) == "There is no iteration 0: the loop has 3"
    head = next(item for item in outline.children(None) if outline.lines.counts.get(~item) == 3)
    step = iteration_named(outline, outline.begin(head) + 1, 3)
    assert isinstance(step, int)
    (iteration,) = [item for item in outline.at(step) if outline.kind(item) is RowKind.ITERATION]
    assert outline.lines.numbers[~iteration] == 3
    event = trace[step]
    assert isinstance(event, SourceLine)
    assert line_named(outline, 0, event.line) in set(trace.steps_of(SourceLine))
    assert "Line 999 of" in str(line_named(outline, 0, 999))


def test_statement_shows_only_bindings_of_its_own_line(trace: Trace) -> None:
    outline = Outline(trace, DEFAULT)
    for at in trace.steps_of(SourceLine):
        for item in outline.at(at):
            (text, _), happened = row_texts(outline, item)
            assert text
            named = {fact.partition(":")[0] for fact, role in happened if role == "tensor"}
            bound = {
                event.name
                for event in map(trace.__getitem__, range(outline.begin(item), outline.end(item) + 1))
                if isinstance(event, NameBound)
            }
            assert {name for name in named if name.isidentifier()} <= bound


def test_loop_over_a_generator_is_one_row_with_iterations() -> None:
    trace = traced("""
        import torch
        x = torch.ones(2)
        def halves():
            for k in range(3):
                yield x / 2
        for half in halves():
            y = half + 1
        z = y + 1
    """)
    outline = Outline(trace, 0)
    rows = {row_texts(outline, item)[0][0]: item for item in outline.children(None)}
    assert len([text for text in rows if "half in" in text]) == 1
    assert len(outline.children(None)) == len(rows), "none is there twice"
    (loop,) = (item for text, item in rows.items() if text.startswith("for"))
    assert ("3 iterations", "program") in row_texts(outline, loop)[1]
    within = [row_texts(outline, child)[0][0] for child in outline.children(loop)]
    assert within == [
        "call 1 of halves",
        "iteration 1",
        *(text for k in (2, 3) for text in ("halves goes on", f"iteration {k}")),
    ]


GENERATORS = {
    "endless, a loop first": (
        "while True:\n        yield x * 2",
        "for k, y in zip(range(3), items()):\n    z = y + 1",
        2,
    ),
    "two in one row": ("yield x * 2\n    yield x * 3", "for y, z in zip(items(), items()):\n    z = y + z", 1),
    "asked by next": ("yield x * 2\n    yield x * 3", "g = items()\ny = next(g)\nz = next(g)", 1),
    "begun again": ("yield x * 2", "for k in range(3):\n    y = next(items())", 0),
    "a list": ("for k in range(3):\n        yield x * k", "ys = list(items())", 0),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_resumed_generator_is_not_another_call(name: str) -> None:
    """The call count must equal the number of generators that Python created and started."""
    body, used, at_least = GENERATORS[name]
    source = f"import torch\nx = torch.ones(2)\ndef items():\n    begun.append(1)\n    {body}\n{used}\n"
    begun: list[int] = []
    exec(source.replace("import torch", "from dispatchviz import torch"), {"begun": begun})
    for first in (True, False):  # with a statement before, and as the first one of the function
        text = source.replace("    begun.append(1)\n", "    n = 1\n" if first else "")
        outline = Outline(traced(text), ALL)
        check(outline)
        calls = [row for row in range(len(outline.lines)) if outline.lines.kinds[row] == RowKind.CALL]
        told = [heading(outline, ~row) for row in calls]
        assert len([each for each in told if each.startswith("call ")]) == len(begun)
        assert len([each for each in told if each == "items goes on"]) >= at_least


LOOPS_ON_ONE_LINE = {
    "while": ("    while x.sum() < 9:\n        x = x * 2", 3),
    "for": ("    for _ in range(3): x.mul_(2)", 3),
    "none": ("    while x.sum() < 0:\n        x = x * 2", 0),
}


@pytest.mark.parametrize("name", LOOPS_ON_ONE_LINE)
def test_function_that_begins_with_a_loop_is_a_new_call(name: str) -> None:
    body, iterations_of_each = LOOPS_ON_ONE_LINE[name]
    trace = traced(f"import torch\ndef f(x):\n{body}\nx, y = torch.ones(2), torch.ones(2)\nf(x), f(y)\n")
    outline = Outline(trace, ALL)
    check(outline)
    calls = [row for row in range(len(outline.lines)) if outline.lines.kinds[row] == RowKind.CALL]
    assert [outline.lines.numbers[row] for row in calls] == [1, 2]
    assert all(outline.lines.shown[row] for row in calls)
    assert sum(iterations(trace).values()) == 2 * iterations_of_each


def test_statements_are_indented_relative_to_their_parent_row() -> None:
    trace = traced("""
        import torch
        def f(x):
            if len(x):
                with torch.no_grad():
                    return x + 1
        with torch.no_grad():
            y = torch.ones(2)
            for i in range(2):
                if i:
                    y = y + i
        z = f(y)
    """)
    outline = Outline(trace, ALL)
    texts = [text for item in _statements(outline, None) if (text := row_texts(outline, item)[0][0])]
    assert "    y = torch.ones(2)" in texts
    assert "    for i in range(2):" in texts
    assert [text for text in texts if text.endswith("y = y + i")] == ["    y = y + i"]
    assert [text for text in texts if text.endswith("return x + 1")] == ["        return x + 1"]
    assert "z = f(y)" in texts


def _statements(outline: Outline, item: int | None) -> Iterator[int]:
    for child in outline.children(item):
        if child < 0 and outline.kind(child) is RowKind.STATEMENT:
            yield child
        if outline.has_children(child):
            yield from _statements(outline, child)

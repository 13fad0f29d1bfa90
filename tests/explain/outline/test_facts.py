"""Tests of the facts in the rows of the outline, and of the first screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.facts import facts
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.overview import counts, first_node
from dispatchviz.explain.outline.row_texts import row_texts
from tests.explain.programs import traced
from tests.steps import line

EXAMPLES = Path(__file__).parents[3] / "examples"


def facts_of_line(trace: Trace, number: int) -> list[str]:
    """Return the facts of a line of the program, up to the next one."""
    begin = line(trace, number)
    after = [step for step in trace.steps_of(type(trace[begin])) if step > begin]
    return [text for text, _ in facts(trace, begin, (after[0] if after else len(trace)) - 1)]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_casts_of_autocast_are_named(device: str) -> None:
    trace = traced(f"""\
        import torch

        w = torch.ones(2, 2, device="{device}", requires_grad=True)
        x = torch.ones(2, 2, device="{device}")
        with torch.autocast("{device}", dtype=torch.bfloat16):
            y = x @ w
            z = x * w
            loss = torch.nn.functional.mse_loss(y, x)
    """)
    assert "w, x cast to bfloat16" in facts_of_line(trace, 6)
    assert not [text for text in facts_of_line(trace, 7) if "cast" in text]
    assert "y cast to float32" in facts_of_line(trace, 8)


def test_many_casts_are_counted() -> None:
    trace = traced("""\
        import torch

        xs = [torch.ones(2, 2) for _ in range(5)]
        with torch.autocast("cpu"):
            ys = [x @ x for x in xs]
    """)
    every = [text for text, _ in facts(trace, line(trace, 4), len(trace) - 1)]
    assert "10 casts by autocast" in every


def test_last_of_many_prints_is_shown() -> None:
    trace = traced("""\
        import torch

        for i in range(500):
            print("step", i)
        print("done")
    """)
    begin, end = line(trace, 3), line(trace, 5) - 1
    assert [text for text, _ in facts(trace, begin, end)] == ["> prints 500 times, last: step 499"]
    assert facts_of_line(trace, 5) == ["> done"]


def test_warnings_are_counted() -> None:
    trace = traced("""\
        import warnings
        import torch

        warnings.simplefilter("default")
        warnings.warn("one")
        warnings.warn("two")
    """)
    assert counts(trace) == "5 lines · 2 warnings"
    assert facts_of_line(trace, 5) == ["! UserWarning"]
    assert [text for text, _ in facts(trace, 0, len(trace) - 1)] == ["! 2 warnings"]


def test_registered_and_removed_kernels_are_counted() -> None:
    trace = traced("""\
        import torch

        lib = torch.library.Library("aten", "IMPL")
        lib.impl("add.Tensor", lambda x, y: x, "PrivateUse1"); lib.impl("mul.Tensor", lambda x, y: x, "PrivateUse1")
        lib._destroy()
        print("end")
    """)
    assert "+ 2 kernels registered" in facts_of_line(trace, 4)
    assert facts_of_line(trace, 5) == ["- 2 kernels removed"]
    assert facts_of_line(trace, 6) == ["> end"]


@pytest.mark.parametrize("name", ["forum", "mlp", "autocast", "custom_operator", "inplace_error", "no_grad", "vmap"])
def test_the_rows_have_all_nodes_of_the_header(name: str) -> None:
    trace = traced((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    outline = Outline(trace, 0)
    facts_of_line = [
        text for item in outline.children(None) for text, _ in row_texts(outline, item)[1] if text.startswith("○")
    ]
    created = {event.node for event in trace if isinstance(event, ev.NodeCreated)}
    assert sum(map(nodes_in, facts_of_line)) == len(created)
    (in_header,) = re.findall(r"([\d,]+) Nodes?\b", counts(trace)) or ["0"]
    assert int(in_header.replace(",", "")) == len(created)


def nodes_in(fact: str) -> int:
    """Return the number of Nodes that a row names or counts. Each name counts as one."""
    number = fact.removeprefix("○ ").partition(" ")[0].replace(",", "")
    return int(number) if number.isdigit() else 1


def test_many_nodes_are_counted_with_those_of_leaves() -> None:
    trace = traced("""\
        import torch

        x = torch.ones(2, requires_grad=True)
        y = torch.ones(2, requires_grad=True)
        for i in range(4):
            z = x * y
    """)
    every = [text for text, _ in facts(trace, line(trace, 5), len(trace) - 1)]
    assert "○ 6 Nodes" in every
    assert "6 Nodes" in counts(trace)


def test_end_of_a_with_block_comes_after_the_whole_line() -> None:
    trace = traced("""\
        import torch

        x = torch.ones(2, 2)
        with torch.autocast("cpu"):
            y = x @ x
        z = x + 1
    """)
    outline = Outline(trace, 0)
    rows = [row_texts(outline, item) for item in outline.children(None)]
    begins, ends = (happened for (text, _), happened in rows if text == 'with torch.autocast("cpu"):')
    assert ("autocast on", "thread") in begins
    assert ends[:2] == [("the block ends", "program"), ("autocast off", "thread")]
    assert "the block ends" not in [text for text, _ in begins]


def test_a_chain_that_is_freed_at_once_is_counted_on_its_line() -> None:
    trace = traced("""\
        import torch

        x = torch.ones(2, requires_grad=True)
        y = x
        for _ in range(9):
            y = y * 2
        del y
    """)
    assert facts_of_line(trace, 7) == ["10 Nodes freed"]  # the leaf's AccumulateGrad counts too


FUNCTION = """\
    import torch

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    x = torch.ones(2, requires_grad=True)
    y = Square.apply(x)
"""


def test_first_node_names_the_highest_key_of_its_call() -> None:
    first = first_node(traced("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"))
    assert first is not None
    assert first.text.startswith(
        "Line 3 creates the first Node, MulBackward0. AutogradCPU is the highest key left, so it wins"
    )


def test_node_of_a_function_is_made_outside_calls() -> None:
    trace = traced(FUNCTION)
    first = first_node(trace)
    assert first is not None
    assert isinstance(trace[first.step], ev.NodeCreated)
    assert first.text.startswith(
        "Line 13 creates the first Node, SquareBackward. A Function creates its Node before its forward"
    )


def test_program_without_nodes_has_no_first_node() -> None:
    assert first_node(traced("import torch\nx = torch.ones(2) * 2\n")) is None


def test_name_restored_after_a_function_is_not_bound_again() -> None:
    trace = traced("""\
        import torch

        def double(x):
            x = x * 2
            return x

        x = torch.ones(2)
        y = double(x)
        print(y)
    """)
    outline = Outline(trace, DEFAULT)
    facts_of_line = [text for text, _ in row_texts(outline, outline.children(None)[-2])[1]]
    assert facts_of_line[-1] == "y: [2] cpu"
    assert "x: [2] cpu" not in facts_of_line

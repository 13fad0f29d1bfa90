"""The first screen: where the first Node is made, and why; what the rows of statements say was bound."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.overview import first_node
from dispatchviz.explain.outline.row_texts import row_texts
from tests.explain.programs import traced

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


def test_the_key_that_won_the_call() -> None:
    first = first_node(traced("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"))
    assert first is not None
    assert first.text.startswith(
        "Line 3 makes the first Node, MulBackward0. AutogradCPU is the highest key left and wins"
    )


def test_a_function_makes_its_node_in_no_call() -> None:
    trace = traced(FUNCTION)
    first = first_node(trace)
    assert first is not None
    assert isinstance(trace[first.step], ev.NodeCreated)
    assert first.text.startswith(
        "Line 13 makes the first Node, SquareBackward. A Function makes its Node before its forward"
    )


def test_a_program_without_nodes() -> None:
    assert first_node(traced("import torch\nx = torch.ones(2) * 2\n")) is None


def test_a_name_that_a_function_had_taken_over_is_not_bound_again() -> None:
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
    told = [text for text, _ in row_texts(outline, outline.children(None)[-2])[1]]
    assert told[-1] == "y: [2] cpu"
    assert "x: [2] cpu" not in told

"""Every kernel against PyTorch: which operators it calls, its result with dtype, strides and numbers, its errors."""

from __future__ import annotations

import pytest

from tests.amounts import some
from tests.core.native.answers import answer, assert_same, gradient_answer
from truth.questions import native_kernels as questions

pytestmark = pytest.mark.record("native_kernels")

EXPRESSIONS = questions.stored()["expressions"]
DTYPES = questions.stored()["dtypes"]
GRADIENTS = questions.stored()["gradients"]

DIFFERENT = {
    "(lambda x: x.as_strided((2,2),(1,1)).mul_(2))(torch.ones(3))": "NB: in PyTorch, overlaps are read back",
}
"""Expressions with another answer than PyTorch's, and why."""


def rounding(expression: str) -> float:
    """Half has 11 bits, and PyTorch adds up in another order."""
    return 2e-3 if "float16" in expression or "H" in expression else 2e-6


def test_the_questions_are_the_stored_ones() -> None:
    assert list(EXPRESSIONS) == questions.expressions()
    assert list(DTYPES) == questions.dtype_expressions()
    assert list(GRADIENTS) == questions.gradients()


@pytest.mark.parametrize("expression", [text for text in EXPRESSIONS if text not in DIFFERENT])
def test_expression(expression: str) -> None:
    assert_same(answer(expression), EXPRESSIONS[expression], rounding(expression))


@pytest.mark.parametrize("expression", DIFFERENT)
def test_what_is_said_to_differ_does_differ(expression: str) -> None:
    with pytest.raises(AssertionError):
        assert_same(answer(expression), EXPRESSIONS[expression])


@pytest.mark.long
@pytest.mark.parametrize("dtype", some(questions.DTYPES, 3))
def test_dtypes(dtype: str) -> None:
    """All expressions whose first tensor has this dtype."""
    mine = [text for text in DTYPES if text.partition("dtype=torch.")[2].startswith((f"{dtype})", f"{dtype},"))]
    assert len(mine) > 100
    for text in mine:
        try:
            assert_same(answer(text), DTYPES[text], rounding(text))
        except AssertionError as error:
            raise AssertionError(f"{text}: {error}") from None


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_gradient(gradient: str) -> None:
    """What backward calls, the Node with what it saved, the gradients."""
    assert_same(gradient_answer(gradient), GRADIENTS[gradient])

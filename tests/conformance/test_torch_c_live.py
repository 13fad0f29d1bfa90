"""``torch._C`` of the model compared with PyTorch's: signatures, answers, messages and types of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatchviz import torch as model_torch
from truth.questions import torch_c as questions
from truth.questions.guards import GUARDS, SETTERS, Watched

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[questions.TorchC, questions.TorchC]]:
    pair = questions.TorchC(model_torch), questions.TorchC(torch)
    yield pair
    for answered in pair:
        answered.close()


@pytest.mark.parametrize("expression", questions.all_expressions())
def test_the_answer_is_pytorchs(both: tuple[questions.TorchC, questions.TorchC], expression: str) -> None:
    ours, theirs = both
    assert ours.answer(expression) == theirs.answer(expression)


@pytest.mark.parametrize("text", questions.expressions(questions.SCHEMAS))
def test_schemas_are_read_as_by_pytorch(both: tuple[questions.TorchC, questions.TorchC], text: str) -> None:
    ours, theirs = both
    assert ours.schema(text) == theirs.schema(text)


def test_signatures_are_pytorchs() -> None:
    """The docstrings are compared too, because pybind11 puts signatures there."""
    ours = {
        name: value for name, value in vars(model_torch._C).items() if hasattr(value, "__doc__") and callable(value)
    }
    bound = {name: value for name, value in ours.items() if "->" in str(value.__doc__).split("\n")[0]}
    assert len(bound) > 45
    theirs = {name: getattr(torch._C, name).__doc__.split("\n")[0] for name in bound}
    assert {name: value.__doc__.split("\n")[0] for name, value in bound.items()} == theirs


@pytest.mark.parametrize(
    "name", ["DispatchKeySet", "_DispatchModule", "_SafeKernelFunction", "_DispatchOperatorHandle"]
)
def test_signatures_of_methods_are_pytorchs(name: str) -> None:
    ours, theirs = getattr(model_torch._C, name), getattr(torch._C, name)
    for method, value in vars(ours).items():
        function = getattr(value, "__func__", value)
        if callable(function) and "->" in str(function.__doc__).split("\n")[0]:
            assert function.__doc__.split("\n")[0] == getattr(theirs, method).__doc__.split("\n")[0]


@pytest.mark.parametrize("guard", GUARDS)
def test_guards_have_the_effects_of_pytorchs(guard: str) -> None:
    ours, theirs = Watched(model_torch._C), Watched(torch._C)
    before = ours.sets()
    assert ours.guard(guard) == theirs.guard(guard)
    assert ours.dropped(guard) == theirs.dropped(guard)
    assert ours.sets() == before == theirs.sets()


@pytest.mark.parametrize(("setter", "key"), SETTERS)
def test_setters_leave_the_same_bits_behind_as_pytorchs(setter: str, key: str) -> None:
    assert Watched(model_torch._C).setter(setter, key) == Watched(torch._C).setter(setter, key)


def test_meta_in_the_included_set_leaves_dense_behind() -> None:
    assert Watched(model_torch._C).meta() == Watched(torch._C).meta()

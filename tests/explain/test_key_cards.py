"""The card of a key; operators and keys by the names that people type."""

from __future__ import annotations

import pytest

from dispatchviz.core.keys.keys import CELL, RUNTIME_KEYS, DispatchKey
from dispatchviz.explain.cells.operator_names import find_operator
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.keys.key_cards import key_card
from dispatchviz.explain.keys.key_names import find_key, runtime_key, runtime_keys
from dispatchviz.explain.keys.key_order import key_rows
from dispatchviz.foundation.errors import DispatchvizError

REGISTRY = pytorch("cuda")
NAMES = REGISTRY.names()


def test_key_rows_are_in_priority_order() -> None:
    rows = key_rows()
    assert [row.name for row in rows[:2]] == ["PythonDispatcher", "PreDispatch"]
    assert (rows[-1].name, rows[-1].value, rows[-1].bit, rows[-1].cells) == ("Dense", 1, 16, "1-16")
    assert [row.value for row in rows] == list(range(46, 0, -1))
    assert not [row.name for row in rows if row.meaning == "has a task of its own"]


@pytest.mark.parametrize(
    "key",
    ["CPU", "QuantizedCPU", "SparseCUDA", "XLA", "Meta", "NestedTensorCPU", "AutogradHIP", "AutogradNestedTensor"],
)
def test_number_of_served_operators_matches_the_tables(key: str) -> None:
    """Compare the number, which comes from registrations alone, with every operator's computed entry."""
    card = key_card(DispatchKey[key], REGISTRY, "cuda")
    valid = sum(REGISTRY.find(name).compute(DispatchKey[key]).kernel is not None for name in NAMES)
    assert card.served == (None if card.fallback else valid)


def test_a_runtime_key() -> None:
    card = key_card(DispatchKey.AutogradCUDA, REGISTRY, "cuda")
    assert (card.kind, card.value, card.raw, card.cells) == ("runtime key", 135, 0x1000000002, (97,))
    assert card.aliases == ("Autograd", "CompositeImplicitAutograd")
    assert card.fallback.startswith("autograd_fallback, registered at aten/src/ATen/core/VariableFallbackKernel.cpp")
    assert "0x801400010002" in card.sentences[1]


def test_an_alias_says_what_it_covers() -> None:
    card = key_card(DispatchKey.CompositeExplicitAutogradNonFunctional, REGISTRY, "cuda")
    assert (card.kind, card.raw, len(card.members)) == ("alias", 0x17FFDF7, 47)
    assert "14 of the 16 dense backend keys" in card.sentences[2]
    assert "it also fills the entry of Undefined" in card.sentences[2]


def test_functionality_card_lists_its_runtime_keys() -> None:
    card = key_card(DispatchKey.Sparse, REGISTRY, "cuda")
    assert (card.kind, len(card.members), card.cells[0]) == ("functionality", 16, 38)


@pytest.mark.parametrize("key", RUNTIME_KEYS)
def test_every_key_has_a_card(key: DispatchKey) -> None:
    card = key_card(key, REGISTRY, "cuda")
    assert card.cells == (CELL[key],)
    assert card.sentences
    assert "has a task of its own" not in " ".join(card.sentences)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("add", "aten::add.Tensor"),
        ("aten::add", "aten::add.Tensor"),
        ("aten::add.Tensor", "aten::add.Tensor"),
        ("aten.add.Tensor", "aten::add.Tensor"),
        ("torch.add", "aten::add.Tensor"),
        ("torch.ops.aten.add.Scalar", "aten::add.Scalar"),
        ("torch.Tensor.add_", "aten::add_.Tensor"),
        ("torch.nn.functional.relu", "aten::relu"),
        ("sum", "aten::sum"),
        ("sum.default", "aten::sum"),
        ("sum.dim_IntList", "aten::sum.dim_IntList"),
        ("torch.linalg.vector_norm", None),
        ("linear", "aten::linear"),
    ],
)
def test_operators_by_the_names_that_people_type(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(DispatchvizError, match="no operator"):
            find_operator(text, NAMES)
    else:
        assert find_operator(text, NAMES).name == name


def test_a_name_that_leaves_the_choice_open_names_the_others() -> None:
    assert set(find_operator("add", NAMES).others) == {"aten::add.Scalar", "aten::add.out", "aten::add.Scalar_out"}
    assert find_operator("aten::add.Tensor", NAMES).others == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("to", "aten::to has .* overloads, name one of them: .*dtype"),
        ("addd", "there is no operator 'addd'; did you mean .*aten::add"),
        ("add.Foo", "aten::add has no overload 'Foo'; its overloads are .*Tensor"),
        ("nope::add", "there is no operator 'nope::add'"),
        ("cholesky", "the operator 'cholesky' was removed in 2.14; use aten::linalg_cholesky"),
        ("aten::qr.Q", "the operator 'aten::qr.Q' was removed in 2.14; use aten::linalg_qr"),
    ],
)
def test_operators_that_do_not_exist(text: str, says: str) -> None:
    with pytest.raises(DispatchvizError, match=says):
        find_operator(text, NAMES)


def test_keys_by_name() -> None:
    assert find_key("autogradcuda") is DispatchKey.AutogradCUDA
    assert find_key("DispatchKey.CPU") is DispatchKey.CPU
    assert len(runtime_keys(["Autograd", "Dense", "CPU"])) == 18 + 16 + 1
    with pytest.raises(DispatchvizError, match=r"Autograd is an alias: it covers 18 keys; .* such as AutogradCUDA"):
        runtime_key("Autograd")
    with pytest.raises(DispatchvizError, match="Dense has no table entry of its own"):
        runtime_key("Dense")
    with pytest.raises(DispatchvizError, match="did you mean CUDA"):
        find_key("CUDDA")

"""Keys, aliases and names against PyTorch's own answers (``truth/recorders/dispatch_keys.py``)."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz.core.keys.keys import (
    ALIAS_MEMBERS,
    ALIASES,
    CELL,
    PER_BACKEND,
    RUNTIME_KEYS,
    BackendComponent,
    DispatchKey,
    included_in_alias,
    parse_dispatch_key,
    runtime_key,
)
from truth import records

pytestmark = pytest.mark.record("dispatch_keys")

DATA: dict[str, Any] = records.read("dispatch_keys")
K = DispatchKey


def test_every_value_prints_as_pytorch_prints_it() -> None:
    ours = [str(K(value)) if value in K._value2member_map_ else "UnknownUnknown" for value in range(len(DATA["names"]))]
    assert ours == DATA["names"]


def test_every_key_has_pytorchs_bits() -> None:
    assert {str(key): key.bits for key in K if not key.name.startswith(("StartOf", "EndOf"))} == DATA["bits"]


def test_cells_are_in_pytorchs_order() -> None:
    assert [key.name for key in RUNTIME_KEYS] == DATA["runtime"]
    assert [CELL[key] for key in RUNTIME_KEYS] == list(range(137))


def test_aliases_stand_for_what_pytorchs_stand_for() -> None:
    assert {a.name: [k.name for k in RUNTIME_KEYS if k in ALIAS_MEMBERS[a]] for a in ALIASES} == DATA["aliases"]


@pytest.mark.parametrize(
    ("alias", "raw", "count"),
    [
        (K.Autograd, 0x380000FFFF, 18),
        (K.CompositeExplicitAutograd, 0x1FFFFFF, 69),
        (K.CompositeExplicitAutogradNonFunctional, 0x17FFDF7, 47),
        (K.CompositeImplicitAutograd, 0x3803FFFFFF, 103),
        (K.CompositeImplicitAutogradNestedTensor, 0x200200FFFF, 17),
        (K.FuncTorchBatchedDecomposition, 1 << 49, 1),
    ],
)
def test_alias_sets(alias: DispatchKey, raw: int, count: int) -> None:
    assert ALIASES[alias] == raw
    assert len(ALIAS_MEMBERS[alias]) == count


def test_undefined_is_in_no_alias_and_building_blocks_answer_like_their_members() -> None:
    assert not any(included_in_alias(K.Undefined, alias) for alias in ALIASES)
    assert included_in_alias(K.Dense, K.CompositeExplicitAutograd)
    assert not included_in_alias(K.Sparse, K.CompositeExplicitAutogradNonFunctional)
    assert included_in_alias(K.CPU, K.CPU)


def test_aliases_and_undefined_have_no_bits() -> None:
    assert [key for key in K if key.bits == 0] == [K.Undefined, *ALIASES]
    assert [key for key in K if key.is_alias] == list(ALIASES)


@pytest.mark.parametrize("functionality", PER_BACKEND)
def test_a_runtime_key_is_a_functionality_and_a_backend(functionality: DispatchKey) -> None:
    for backend in BackendComponent:
        key = runtime_key(functionality, backend)
        assert (key.functionality, key.backend) == (functionality, backend)


def test_a_functionality_with_one_cell_has_no_backend() -> None:
    assert runtime_key(K.BackendSelect, BackendComponent.CUDABit) is K.BackendSelect
    assert K.BackendSelect.functionality is K.BackendSelect
    assert K.BackendSelect.backend is BackendComponent.InvalidBit
    assert K.Autograd.functionality is K.Undefined


def test_the_parser_knows_the_names_that_pytorchs_knows() -> None:
    assert [name for name in dict.fromkeys(DATA["names"]) if _parses(name)] == DATA["parsed"]


@pytest.mark.parametrize("name", DATA["parsed"])
def test_parsed_names_give_their_key(name: str) -> None:
    assert str(parse_dispatch_key(name)) == name


@pytest.mark.parametrize(
    "name", ["AutogradHIP", "QuantizedXLA", "CatchAll", "", "StartOfDenseBackends", "AutogradUndefined"]
)
def test_names_that_pytorchs_parser_refuses(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"^could not parse dispatch key: {name}$"):
        parse_dispatch_key(name)


def _parses(name: str) -> bool:
    try:
        parse_dispatch_key(name)
    except RuntimeError:
        return False
    return True

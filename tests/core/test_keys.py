"""Dispatch keys and key sets, against PyTorch's answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.key_set import DispatchKeySet, compute_dispatch_key, tensor_key_set
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


def test_every_value_prints_as_in_pytorch() -> None:
    ours = [str(K(value)) if value in K._value2member_map_ else "UnknownUnknown" for value in range(len(DATA["names"]))]
    assert ours == DATA["names"]


def test_every_key_has_pytorchs_bits() -> None:
    assert {str(key): key.bits for key in K if not key.name.startswith(("StartOf", "EndOf"))} == DATA["bits"]


def test_cells_are_in_pytorchs_order() -> None:
    assert [key.name for key in RUNTIME_KEYS] == DATA["runtime"]
    assert [CELL[key] for key in RUNTIME_KEYS] == list(range(137))


def test_aliases_have_the_same_members_as_in_pytorch() -> None:
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
def test_alias_sets_have_the_expected_sizes(alias: DispatchKey, raw: int, count: int) -> None:
    assert ALIASES[alias] == raw
    assert len(ALIAS_MEMBERS[alias]) == count


def test_undefined_is_in_no_alias_and_building_blocks_act_as_their_members() -> None:
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


def test_parser_knows_the_same_names_as_pytorchs() -> None:
    assert [name for name in dict.fromkeys(DATA["names"]) if _parses(name)] == DATA["parsed"]


@pytest.mark.parametrize("name", DATA["parsed"])
def test_parsed_names_give_their_key(name: str) -> None:
    assert str(parse_dispatch_key(name)) == name


@pytest.mark.parametrize(
    "name", ["AutogradHIP", "QuantizedXLA", "CatchAll", "", "StartOfDenseBackends", "AutogradUndefined"]
)
def test_parser_refuses_the_same_names_as_pytorchs(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"^could not parse dispatch key: {name}$"):
        parse_dispatch_key(name)


def _parses(name: str) -> bool:
    try:
        parse_dispatch_key(name)
    except RuntimeError:
        return False
    return True


BACKENDS = 0xFFFF
SETS = st.integers(min_value=0, max_value=key_set.FULL)
KEYS = st.sampled_from(RUNTIME_KEYS)
value = DispatchKeySet.from_raw_repr

# -- PyTorch's answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", DATA["algebra"], ids=lambda row: f"{row[0]:#x}-{row[1]:#x}")
def test_key_set_algebra_equals_pytorchs(row: list[Any]) -> None:
    a, b, number, union, intersection, difference, added, removed, has, highest, members = row
    x, y, key = value(a), value(b), K(number)
    assert [(x | y).raw_repr(), (x & y).raw_repr(), (x - y).raw_repr()] == [union, intersection, difference]
    assert [x.add(key).raw_repr(), x.remove(key).raw_repr()] == [added, removed]
    assert x.has(key) is has
    assert str(x.highestPriorityTypeId()) == highest
    assert [key.name for key in x] == members
    assert repr(x) == f"DispatchKeySet({', '.join(members)})"


def test_full_after_equals_pytorchs() -> None:
    assert {name: key_set.full_after(K[name]) for name in DATA["full_after"]} == DATA["full_after"]


@pytest.mark.parametrize("name", DATA["named"])
def test_printed_named_sets_equal_pytorchs(name: str) -> None:
    assert getattr(key_set, name) == DATA["named"][name]


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("after_func_keyset", 0x200000003FFFFFFF),
        ("after_Python_keyset", 0x1FFFFFFFE0000000),
        ("autocast_dispatch_keyset", 0x1FF8000000000),
        ("inplace_or_view_ks", 0x400000000),
        ("backend_dispatch_keyset", 0x1FFFFFF),
        ("non_functional_backend_dispatch_keyset", 0x17FFDF7),
        ("math_dispatch_keyset", 0x3803FFFFFF),
        ("nested_dispatch_keyset", 0x200200FFFF),
        ("backend_functionality_keys", 0x191FFFF),
        ("python_ks", 0x100000010000000),
        ("sparse_ks", 0x800000),
        ("sparse_csr_ks", 0x1000000),
        ("mkldnn_ks", 0x400000),
        ("functorch_transforms_ks", 0x7A000000000000),
        ("functorch_batched_ks", 0x2000000000000),
    ],
)
def test_named_sets_have_these_members(name: str, raw: int) -> None:
    assert getattr(key_set, name) == raw


def test_autograd_keys_have_the_same_backends_as_in_pytorch() -> None:
    assert {str(key): ks for key, ks in key_set.BACKENDS_OF_AUTOGRAD.items() if ks} == DATA["behind_autograd"]


@pytest.mark.parametrize("kind", DATA["tensors"])
def test_tensor_key_sets_equal_pytorchs(kind: str) -> None:
    device, layout, *more = kind.split()
    assert tensor_key_set(device, "inference" in more, layout, "quantized" in more) == DATA["tensors"][kind]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("toaster",), "toaster"),
        (("cuda", "mkldnn"), "Unsupported device type for mkldnn layout: cuda"),
        (("vulkan", "sparse_coo"), "Unsupported device type for sparse_coo layout: vulkan"),
        (("cpu", "round"), "Unsupported layout: round"),
    ],
)
def test_tensor_without_a_key_is_refused(arguments: tuple[str, ...], text: str) -> None:
    with pytest.raises(NotImplementedError, match=text):
        compute_dispatch_key(*arguments)


# -- laws -------------------------------------------------------------------------------------------------------------


@given(SETS, SETS)
def test_subtraction_never_clears_a_backend_bit(a: int, b: int) -> None:
    assert key_set.subtract(a, b) & BACKENDS == a & BACKENDS
    assert key_set.subtract(a, b) & ~BACKENDS == a & ~b & ~BACKENDS


@given(SETS, KEYS)
def test_adding_then_removing_a_key_leaves_its_backend_bit(ks: int, key: DispatchKey) -> None:
    assert key_set.remove(ks | key.bits, key) == key_set.remove(ks, key) | key.bits & BACKENDS


@given(SETS, KEYS)
def test_added_key_is_in_the_set(ks: int, key: DispatchKey) -> None:
    assert value(ks).add(key).has(key)
    assert value(ks).add(key).has_all(value(ks))


@given(SETS)
def test_the_highest_key_is_the_last_member(ks: int) -> None:
    members = list(key_set.members(ks))
    if not ks & BACKENDS and key_set.highest_functionality(ks) in PER_BACKEND:
        assert str(key_set.highest(ks)).endswith("Undefined")  # though the table gives the CPU cell
    else:
        assert key_set.highest(ks) == (members[-1] if members else K.Undefined)


@given(SETS)
def test_table_index_is_that_of_the_highest_key(ks: int) -> None:
    assert key_set.table_index(ks) == CELL[key_set.highest(ks | 1 if not ks & BACKENDS and ks >> 16 else ks)]


@given(SETS)
def test_members_come_in_cell_order_and_are_in_the_set(ks: int) -> None:
    members = list(key_set.members(ks))
    assert [CELL[key] for key in members] == sorted({CELL[key] for key in members})
    assert all(value(ks).has(key) for key in members)
    assert key_set.raw(*members) | ks == ks


@given(SETS)
def test_every_runtime_key_whose_bits_are_in_the_set_is_a_member(ks: int) -> None:
    assert set(key_set.members(ks)) == {key for key in RUNTIME_KEYS[1:] if ks & key.bits == key.bits}


@given(SETS, SETS)
def test_sets_are_values(a: int, b: int) -> None:
    x, y = value(a), value(b)
    assert (x == y) is (a == b)
    assert (x | y) == (y | x)
    assert (x ^ y) ^ y == x
    assert x.has_any(y) is bool(a & b)
    assert x.has_all(x & y)


@given(KEYS)
def test_full_after_has_all_lower_keys(key: DispatchKey) -> None:
    after = key_set.full_after(key)
    below = [k for k in RUNTIME_KEYS[1:] if k.functionality < key.functionality]
    assert all(after & k.bits == k.bits for k in [*below, K.PythonDispatcher])


# -- corners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", RUNTIME_KEYS)
def test_set_of_one_key_picks_its_entry(key: DispatchKey) -> None:
    assert key_set.table_index(key.bits) == CELL[key]
    assert key_set.highest(key.bits) is key


def test_every_set_contains_aliases_and_undefined() -> None:
    assert DispatchKeySet().has(K.Autograd)
    assert DispatchKeySet().has(K.Undefined)
    assert DispatchKeySet(K.Autograd).empty()


def test_examples_of_the_reference_hold() -> None:
    both = value(0x1000010001)
    assert (both - value(0x10001)).raw_repr() == 0x1000000001
    assert both.remove(K.CPU).raw_repr() == 0x1000000001
    assert both.remove(K.AutogradCUDA).raw_repr() == 0x10001
    assert value(0x10001).add(K.Autograd).raw_repr() == 0x10001
    assert both.remove_backend(BackendComponent.CPUBit).raw_repr() == 0x1000010000


def test_set_does_not_keep_pairs_of_backend_and_functionality() -> None:
    mixed = DispatchKeySet([K.CPU, K.AutogradCUDA])
    assert mixed.has(K.CUDA)
    assert mixed.has(K.AutogradCPU)
    assert mixed.has_backend(BackendComponent.CUDABit)
    assert [str(key) for key in mixed] == ["CPU", "CUDA", "AutogradCPU", "AutogradCUDA"]


def test_set_without_backend_picks_the_cpu_entry_but_prints_undefined() -> None:
    dense = key_set.raw(K.Dense)
    assert key_set.table_index(dense) == CELL[K.CPU]
    assert str(key_set.highest(dense)) == "Undefined"
    assert str(key_set.highest(key_set.raw(K.AutogradFunctionality))) == "AutogradUndefined"
    assert repr(value(dense)) == "DispatchKeySet()"


def test_backend_bits_alone_are_undefined() -> None:
    assert key_set.highest(0x3) is K.Undefined
    assert key_set.table_index(0x3) == 0
    assert DispatchKeySet(BackendComponent.CUDABit).raw_repr() == 2
    assert DispatchKeySet(BackendComponent.InvalidBit).empty()


def test_bits_above_all_keys_behave_as_in_pytorch() -> None:
    assert str(key_set.highest(1 << 62)) == "UnknownUnknown"
    assert list(key_set.members(1 << 62)) == []
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
        list(key_set.members(1 << 63))
    with pytest.raises(IndexError):
        key_set.table_index(1 << 62)


@pytest.mark.parametrize("raw", [-1, 1 << 64])
def test_a_raw_set_has_64_bits(raw: int) -> None:
    with pytest.raises(TypeError, match="integer from 0 to"):
        value(raw)


def test_backend_part_of_a_set_is_read_separately() -> None:
    assert key_set.highest_backend(0x10003) is BackendComponent.CUDABit

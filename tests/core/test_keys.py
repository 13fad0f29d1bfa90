"""Keys and key sets against PyTorch's own answers (``scripts/snapshot_keys.py``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core import keyset
from dispatchviz.core.keys import ALIASES, CELL, DispatchKey, included_in_alias, parse_dispatch_key
from dispatchviz.core.keyset import DispatchKeySet

DATA: dict[str, Any] = json.loads((Path(__file__).parent.parent / "data/dispatch_keys.json").read_text())
SETS = st.integers(min_value=0, max_value=keyset.FULL)


def test_every_key_has_pytorchs_value_and_name() -> None:
    ours = [str(DispatchKey(value)) if value in DispatchKey._value2member_map_ else "UnknownUnknown"
            for value in range(len(DATA["names"]))]  # fmt: skip
    assert ours == DATA["names"]


def test_cells_are_in_pytorchs_order() -> None:
    assert [key.name for key in CELL] == DATA["runtime"]
    assert len(CELL) == 137


def test_a_cell_is_the_index_of_its_keys_set() -> None:
    assert all(keyset.table_index(key.bits) == cell for key, cell in CELL.items())


def test_aliases_cover_what_pytorchs_cover() -> None:
    ours = {alias.name: [key.name for key in CELL if included_in_alias(key, alias)] for alias in ALIASES}
    assert ours == DATA["aliases"]
    assert all(alias.is_alias for alias in ALIASES)


def test_full_after() -> None:
    assert {name: keyset.full_after(DispatchKey[name]) for name in DATA["full_after"]} == DATA["full_after"]


def test_thread_defaults() -> None:
    assert keyset.default_included_set == DATA["included"] == 0x404000000
    assert keyset.default_excluded_set == DATA["excluded"] == 0x1FF8000000000


def test_key_sets_of_tensors() -> None:
    assert keyset.tensor_key_set("cpu", inference=False) == DATA["tensors"]["cpu"]
    assert keyset.tensor_key_set("cpu", inference=True) == DATA["tensors"]["cpu inference"]
    assert keyset.tensor_key_set("meta", inference=False) == DATA["tensors"]["meta"]
    assert keyset.tensor_key_set("cuda", inference=False) == 0x801400010002


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("autograd_dispatch_keyset", 0x3800000000),
        ("autograd_dispatch_keyset_with_ADInplaceOrView", 0x3C00000000),
        ("after_autograd_keyset", 0x20000007FFFFFFFF),
        ("after_ADInplaceOrView_keyset", 0x20000003FFFFFFFF),
        ("after_func_keyset", 0x200000003FFFFFFF),
        ("autogradother_backends", 0x1FEFFFF),
        ("backend_dispatch_keyset", 0x1FFFFFF),
        ("python_ks", 0x100000010000000),
        ("inplace_or_view_ks", 0x400000000),
    ],
)
def test_named_sets(name: str, raw: int) -> None:
    assert getattr(keyset, name) == raw


@pytest.mark.parametrize("row", DATA["algebra"], ids=lambda row: f"{row[0]:#x}-{row[1]:#x}")
def test_algebra(row: list[Any]) -> None:
    a, b, value, union, intersection, difference, added, removed, has, highest, members = row
    x, y, key = DispatchKeySet.from_raw_repr(a), DispatchKeySet.from_raw_repr(b), DispatchKey(value)
    assert (x | y).raw_repr() == union
    assert (x & y).raw_repr() == intersection
    assert (x - y).raw_repr() == difference
    assert x.add(key).raw_repr() == added
    assert x.remove(key).raw_repr() == removed
    assert x.has(key) is has
    assert str(x.highestPriorityTypeId()) == highest
    assert [key.name for key in x] == members


@given(SETS, SETS)
def test_subtraction_never_clears_a_backend_bit(a: int, b: int) -> None:
    assert keyset.subtract(a, b) & 0xFFFF == a & 0xFFFF


@given(SETS)
def test_a_set_is_the_union_of_its_members_where_every_functionality_has_its_backend(ks: int) -> None:
    ks |= 1
    dense = keyset.raw(DispatchKey.Dense)
    assert keyset.raw(*keyset.members(ks | dense)) == ks | dense


def test_every_set_has_an_alias() -> None:
    assert DispatchKeySet().has(DispatchKey.Autograd)
    assert DispatchKeySet(DispatchKey.Autograd).raw_repr() == 0


def test_a_set_without_backend_picks_the_cpu_cell() -> None:
    assert keyset.table_index(keyset.raw(DispatchKey.Dense)) == CELL[DispatchKey.CPU]
    assert str(keyset.highest(keyset.raw(DispatchKey.AutogradFunctionality))) == "AutogradUndefined"


def test_an_unknown_key_is_refused_in_pytorchs_words() -> None:
    with pytest.raises(RuntimeError, match="could not parse dispatch key: AutogradCDUA"):
        parse_dispatch_key("AutogradCDUA")

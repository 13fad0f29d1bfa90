"""Raw key sets, of this release and of older ones; names of keys that are gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.core.keys.key_set import members
from dispatchviz.core.keys.keys import ALIASES, FUNCTIONALITIES, BackendComponent, DispatchKey
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.keys.key_inputs import read
from dispatchviz.explain.keys.key_layouts import layout_of, layouts, readings
from dispatchviz.explain.keys.key_names import find_key
from dispatchviz.explain.keys.past_keys import RENAMED, STORIES, became
from dispatchviz.explain.keys.raw_key_sets import RawSetCard, raw_set_card
from dispatchviz.foundation.errors import DispatchvizError
from truth.recorders.key_layouts import layout

REGISTRY = pytorch("cuda")


def test_the_last_layout_is_that_of_our_keys() -> None:
    ours = layouts()[-1]
    assert ours.span == "2.13 to 2.14"
    assert ours.keys == tuple(key.name for key in FUNCTIONALITIES)
    assert ours.backends == tuple(backend.name.removesuffix("Bit") for backend in BackendComponent if backend)
    assert ours.aliases == tuple(alias.name for alias in sorted(ALIASES))
    for raw in (0x10001, 0x1000010002, 0x9400018003, 0x3FFFFFFFFFFFFFFF):
        assert ours.members(raw) == [str(key) for key in members(raw)]


@pytest.mark.torch
def test_the_script_reads_the_installed_header() -> None:
    torch = pytest.importorskip("torch")
    header = Path(torch.__file__).parent / "include/c10/core/DispatchKey.h"
    found, ours = layout(header.read_text()), layouts()[-1]
    assert tuple(found["keys"]) == ours.keys
    assert tuple(found["backends"]) == ours.backends
    assert found["per_backend"] == ours.per_backend


def test_every_release_since_1_5_is_known_once() -> None:
    releases = [re.match(r"\d+\.\d+", release)[0] for each in layouts() for release in each.releases]  # type: ignore[index]
    assert releases == [f"1.{minor}" for minor in range(5, 14)] + [f"2.{minor}" for minor in range(15)]


@pytest.mark.parametrize(
    ("raw", "span", "keys"),
    [
        (274877939713, "2.0 to 2.2", ("AutogradCPU", "CPU")),  # the codegen page's back trace
        (32769, "2.0 to 2.7", ("CPU",)),
        (0x2000010001, "2.8 to 2.12", ("AutogradCPU", "CPU")),
    ],
)
def test_sets_of_old_backtraces(raw: int, span: str, keys: tuple[str, ...]) -> None:
    found = raw_set_card(raw).elsewhere[0]
    assert (found.releases, found.members) == (span, keys)


def test_a_set_of_today_is_not_looked_for_elsewhere() -> None:
    for raw in (0x1000010002, 0x9400010001, 0x801400010002, 0x3C00000000, 0x20000007FFFFFFFF):
        card = raw_set_card(raw)
        assert card.sensible
        assert not card.elsewhere


def test_a_release_with_one_bit_a_key() -> None:
    layout = layout_of("1.7.1")
    assert layout is not None
    assert layout.members(1 | 1 << 27) == ["CPU", "AutogradCPU"]
    assert layout in readings(1 | 1 << 27)
    assert raw_set_card(1 | 1 << 27, "1.7").elsewhere[0].members == ("AutogradCPU", "CPU")


def test_a_release_that_is_not_known() -> None:
    with pytest.raises(DispatchvizError, match=r"'1.4' is not known; known are 1.5, .*2.13"):
        raw_set_card(1, "1.4")


def test_a_set_taken_apart() -> None:
    card = raw_set_card(0x1000010003)
    assert card.members == ("AutogradCUDA", "AutogradCPU", "CUDA", "CPU")
    assert (card.highest, card.cell) == ("AutogradCUDA", 97)
    assert [(bit.bit, bit.name) for bit in card.bits] == [
        (0, "CPU"),
        (1, "CUDA"),
        (16, "Dense"),
        (36, "AutogradFunctionality"),
    ]
    assert "Backends are bits of the whole set" in card.notes[0]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (0, "This is the empty set"),
        (1, "The backend bit CPU has no functionality beside it"),
        (0x10000, "would select the entry of CPU, although its highest key prints as Undefined"),
        (1 << 62, "No key has bit 62: printing ignores bit 62"),
        (1 << 63 | 1, "fails an internal check"),
    ],
)
def test_odd_sets_get_a_note(raw: int, says: str) -> None:
    card = raw_set_card(raw)
    assert says in " ".join(card.notes)
    assert (card.cell is None) is (raw >= 1 << 62)


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("68719542273", 0x1000010001),
        ("0x1000010001", 0x1000010001),
        ("0x1000010001ULL", 0x1000010001),
        ("CPU+AutogradCPU", 0x1000010001),
        ("cpu|autogradcpu", 0x1000010001),
        ("DispatchKeySet(CPU, AutogradCPU)", 0x1000010001),
        ("DispatchKeySet()", 0),
    ],
)
def test_sets_can_be_written_in_several_ways(text: str, raw: int) -> None:
    card = read(text, lambda: (REGISTRY, "cuda"))
    assert isinstance(card, RawSetCard)
    assert card.raw == raw


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-1", "a number from 0 to 2\\*\\*64 - 1, not -1"),
        (str(1 << 64), "a number from 0"),
        ("CPU+Autograd", "Autograd is an alias and has no bit"),
        ("CPU+CUDDA", "no dispatch key 'CUDDA'; did you mean CUDA"),
    ],
)
def test_invalid_set_raises_an_error(text: str, says: str) -> None:
    with pytest.raises(DispatchvizError, match=says):
        read(text, lambda: (REGISTRY, "cuda"))


def test_keys_that_are_gone_say_what_became_of_them() -> None:
    known = {name for each in layouts() for name in each.names}
    gone = known - layouts()[-1].names - {key.name for key in DispatchKey}
    assert gone <= {*RENAMED, *STORIES}
    assert all(became(name) for name in gone)
    assert became("DefaultBackend") == "DefaultBackend, a key in 1.8, is called CompositeExplicitAutograd now"
    with pytest.raises(DispatchvizError, match=r"Named, a key from 1.6 to 2.12, .*removed named tensors"):
        find_key("Named")
    with pytest.raises(DispatchvizError, match="stored under CompositeImplicitAutograd"):
        find_key("catchall")

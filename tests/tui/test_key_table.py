"""The table of the key-set card at every width: what decides is whole, however arguments are called."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.testing import event
from dispatchviz.tui.layout.pane_layout import KEYS
from dispatchviz.tui.panes.key_set_pane import rows
from dispatchviz.tui.panes.key_set_table import table
from tests.steps import step

from .programs import LONG_NAMES, cat, example, the_call
from .screens import SIZES, Reader, read

FOLDED = [
    "13 tensors, all alike: first_hidden_layer_activations to thirteenth_hidden_layer_activations",
    "                 13 tensors  united  incl  excl  mask  left",
    "AutocastCPU      ■           ■       ·     ×     ■     ×  ",
    "AutogradCPU      ■           ■       ·     ·     ■     ■  ◀ wins",
    "ADInplaceOrView  ■           ■       ■     ·     ×     ×  ",
    "BackendSelect    ·           ·       ■     ·     ×     ×  ",
    "CPU              ■           ■       ·     ·     ■     ■  ",
    "CPU bit          ■           ■       ·     ·     ■     ■  ",
]


def test_arguments_with_the_same_keys_share_a_column_where_there_is_no_room() -> None:
    trace = cat()
    card = key_set_card(trace, the_call(trace, "aten::cat"))
    assert card is not None
    assert [row.plain for row in table(card, 77)] == FOLDED
    wide = [row.plain for row in table(card, 250)]
    assert wide[0].split()[:2] == ["firs…ions", "seco…ions"]
    assert wide[2].split() == ["AutogradCPU", *"■" * 14, "·", "·", "■", "■", "◀", "wins"]


@pytest.mark.parametrize("width", range(30, 140))
@pytest.mark.parametrize("operator", ["aten::cat", "aten::sum", "aten::ones_like"])
def test_no_row_of_the_table_is_wider_than_the_pane(width: int, operator: str) -> None:
    trace = cat()
    card = key_set_card(trace, the_call(trace, operator))
    assert card is not None
    rows = table(card, width)
    if width >= 40:
        assert max(row.width for row in rows if row.cut) <= width
    assert [row.here for row in rows].count(True) == 1
    assert "◀" in next(row.plain for row in rows if row.here)


def test_two_arguments_of_one_name_each_keep_their_columns() -> None:
    trace = example("forum.py")
    card = key_set_card(trace, the_call(trace, "aten::add.Tensor"))
    assert card is not None
    heads = [row.plain for row in table(card, 57)]
    assert heads[0].split() == ["x", "y", "united", "incl", "excl", "mask", "left"]
    assert heads[2] == "AutogradCUDA    ■ ■ ■      ·    ·    ■    ■ ◀ wins"


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
def test_the_winner_is_on_every_screen(size: tuple[int, int]) -> None:
    for trace, operator in ((cat(), "aten::cat"), (example("forum.py"), "aten::add.Tensor")):
        at = the_call(trace, operator)

        async def story(reader: Reader) -> None:
            for _ in range(2):
                assert sum("◀" in row for row in reader.screen) == 1, reader.text
                await reader.press("s")
            assert reader.app.view.panes[KEYS].display

        read(trace, story, size, at)


def test_every_argument_is_named_with_its_set_below() -> None:
    trace = cat()
    text = "\n".join(row.plain for row in rows(trace, the_call(trace, "aten::cat"), 77))
    assert all(f"= {name}  0x9400010001" in text for name in LONG_NAMES)


def test_a_sentence_names_only_the_first_of_many_tensors() -> None:
    trace = cat()
    at = step(trace, event(ev.KeySetComputed, arguments=lambda all: len(all) == len(LONG_NAMES)))
    said = "\n".join(row.plain for row in rows(trace, at, 77))
    assert "first_hidden_layer_activations, second_hidden_layer_activations and 11 more are CPU tensors" in said

"""The table of the key-set card at every width: what decides is whole, however arguments are called."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_lanes import STAGES
from dispatchviz.testing import event
from dispatchviz.tui.screens.step_text_screen import step_text
from dispatchviz.views.layout.pane_layout import KEYS
from dispatchviz.views.panes.key_set_pane import rows, rows_at
from dispatchviz.views.panes.key_set_table import table
from tests.steps import step

from .programs import LONG_NAMES, cat, example, the_call
from .screens import SIZES, Reader, read

FOLDED = [
    "                 13 tensors  united  incl  excl  mask  left",
    "AutogradCPU      ■           ■       ·     ·     ■     ■  ◀ wins",
    "AutocastCPU      ■           ■       ·     ×     ■     ×  ",
    "ADInplaceOrView  ■           ■       ■     ·     ×     ×  ",
    "BackendSelect    ·           ·       ■     ·     ×     ×  ",
    "CPU              ■           ■       ·     ·     ■     ■  ",
    "CPU bit          ■           ■       ·     ·     ■     ■  ",
]


def test_arguments_with_the_same_keys_share_a_column() -> None:
    trace = cat()
    card = key_set_card(trace, the_call(trace, "aten::cat"))
    assert card is not None
    assert [row.plain for row in table(card, 77)] == FOLDED


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


def test_two_arguments_with_the_same_keys_are_named() -> None:
    trace = example("forum.py")
    card = key_set_card(trace, the_call(trace, "aten::add.Tensor"))
    assert card is not None
    heads = [row.plain for row in table(card, 77)]
    assert heads[0].split() == ["x,", "y", "united", "incl", "excl", "mask", "left"]
    assert heads[1] == "AutogradCUDA     ■     ■       ·     ·     ■     ■  ◀ wins"


ADD = """\
AutogradCUDA wins  call of aten::add.Tensor
   x, y      {AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA}
 + included  {ADInplaceOrView, BackendSelect}
 − excluded  {AutocastCUDA} by the thread
 − mask      {ADInplaceOrView, BackendSelect} fall through here
 = left      {AutogradCUDA, CUDA} → AutogradCUDA"""

CAT = """\
AutogradCPU wins  call of aten::cat
   13 tensors  {AutocastCPU, AutogradCPU, ADInplaceOrView, CPU}
 + included    {ADInplaceOrView, BackendSelect}
 − excluded    {AutocastCPU} by the thread
 − mask        {ADInplaceOrView, BackendSelect} fall through here
 = left        {AutogradCPU, CPU} → AutogradCPU
13 tensors: first_hidden_layer_activations to thirteenth_hidden_layer_activations"""


def test_the_card_begins_with_the_winner_and_a_lane_for_each_set() -> None:
    for trace, operator, expected in ((example("forum.py"), "aten::add.Tensor", ADD), (cat(), "aten::cat", CAT)):
        shown = "\n".join(row.plain for row in rows(trace, the_call(trace, operator), 74))
        assert shown.startswith(expected)


def test_one_lane_is_lit_at_a_sub_step() -> None:
    trace = example("forum.py")
    at = the_call(trace, "aten::add.Tensor")
    lit = {stage: [row.plain for row in rows_at(trace, at, 74, stage) if row.shaded] for stage in STAGES}
    assert [row.strip("▶ +−=").split()[0] for found in lit.values() for row in found] == [
        "x,",
        "included",
        "excluded",
        "mask",
        "left",
    ]
    assert all(row.startswith("▶") for found in lit.values() for row in found)


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
def test_the_winner_is_on_every_screen(size: tuple[int, int]) -> None:
    for trace, operator in ((cat(), "aten::cat"), (example("forum.py"), "aten::add.Tensor")):
        at = the_call(trace, operator)
        card = key_set_card(trace, at)
        assert card is not None
        wins = f"{card.winner} wins"

        async def story(reader: Reader, wins: str = wins) -> None:
            for _ in range(2):
                assert wins in reader.text
                await reader.press("s")
            assert reader.app.view.panes[KEYS].display

        read(trace, story, size, at)


def test_raw_numbers_are_on_demand() -> None:
    trace = cat()
    at = the_call(trace, "aten::cat")
    assert "0x" not in "\n".join(row.plain for row in rows(trace, at, 77))
    text = "\n".join(row.plain for row in step_text(trace, at))
    assert all(f"= {name}  0x9400010001" in text for name in LONG_NAMES)


def test_a_sentence_names_only_the_first_of_many_tensors() -> None:
    trace = cat()
    at = step(trace, event(ev.KeySetComputed, arguments=lambda all: len(all) == len(LONG_NAMES)))
    said = "\n".join(row.plain for row in rows(trace, at, 77))
    assert "first_hidden_layer_activations, second_hidden_layer_activations and 11 more are CPU tensors" in said

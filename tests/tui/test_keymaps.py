"""Tests of keys: the table, the keymaps, random keys."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_letters

import pytest

from dispatchviz.cli.options import KEYMAPS as NAMES_IN_OPTIONS
from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_lanes import STAGES
from dispatchviz.testing import event
from dispatchviz.tui.actions import ACTIONS
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.commands.choosing_panes import PANE_ACTIONS
from dispatchviz.tui.commands.focused_pane import FOCUS_ACTIONS
from dispatchviz.tui.screens.help_screen import help_rows
from dispatchviz.tui.screens.step_text_screen import step_text
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.tui.terminal.keymaps import (
    GDB,
    KEYMAPS,
    VARIABLE,
    VIM,
    meanings,
    of_other_keymaps,
    use_from_environment,
    use_named,
)
from dispatchviz.views import keymap as keymap_module
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import (
    DEFAULT,
    FOOTER_KEYS,
    GOES_BACK,
    GOES_HOME,
    KEYMAP,
    QUITS,
    Key,
    Keymap,
    Leaving,
    in_force,
    key_of,
    pane_key,
    use,
)
from dispatchviz.views.layout.pane_layout import PANES
from dispatchviz.views.pane_help import ABOUT
from dispatchviz.views.panes.key_set_pane import rows, rows_at
from dispatchviz.views.panes.key_set_table import table
from dispatchviz.views.screen_bars import first_notes, footer_row
from dispatchviz.views.session import Session
from tests.cli.command import dispatchviz
from tests.steps import last_step, step

from .programs import LONG_NAMES, cat, example, the_call
from .screens import stepper, stepper_of
from .synthetic import forum, raising


def test_every_action_exists() -> None:
    for entry in KEYMAP:
        name, _, argument = entry.action.removeprefix("app.").partition("(")
        owner = StepperApp if entry.action.startswith("app.") else StepperScreen
        known = {*ACTIONS, *FOCUS_ACTIONS, *PANE_ACTIONS}
        assert name in known or hasattr(owner, f"action_{name}")
        if name in ("move", "jump"):
            assert hasattr(Cursor, argument.strip("')"))


def test_shift_takes_the_same_step_backwards() -> None:
    for move in ("into", "over", "out", "resume"):
        assert key_of(f"move('{move}')").keys[0].upper() == key_of(f"move('{move}_back')").keys[0]


def test_undeliverable_keys_are_never_the_only_ones() -> None:
    for entry in KEYMAP:
        assert any(len(key) == 1 or not key.startswith(("f1", "shift+", "alt+")) for key in entry.keys) or (
            entry.action == "app.focus_previous"
        )


def test_the_footer_has_at_most_seven_keys_and_drops_the_least_needed() -> None:
    wide, narrow = footer_row(200).plain, footer_row(60).plain
    assert len([entry for entry in KEYMAP if entry.footer]) <= FOOTER_KEYS
    assert footer_row(60).width <= 60
    for always in ("s step", "? help", "q quit"):
        assert always in wide
        assert always in narrow


@pytest.mark.parametrize("pane", PANES)
def test_help_comes_from_the_keymap(pane: int) -> None:
    text = "\n".join(row.plain for row in help_rows(pane))
    assert ABOUT[pane] in text
    assert all(f"{entry.shown:<14}{entry.help}" in text for entry in KEYMAP)


def test_the_first_hint_fits_the_narrowest_screen_it_is_made_for() -> None:
    for trace in (forum(), raising()):
        for hint in (first_notes(trace, 0)[0], first_notes(trace, len(trace) - 1)[0]):
            assert hint.width < 80
            assert sum(role == "keycap" for _, role in hint.spans) == 3


def test_an_action_without_keys_is_an_error() -> None:
    with pytest.raises(KeyError):
        key_of("nothing")


@pytest.mark.parametrize("leaving", [QUITS, GOES_HOME, GOES_BACK], ids=lambda leaving: leaving.footer)
async def test_quit_key_names_its_destination(leaving: Leaving) -> None:
    async with stepper_of(Session(forum(), 0, leaving=leaving)) as reader:
        assert reader.sees(f"q {leaving.footer}")
        await reader.press("ctrl+c")
        assert reader.sees(f"q {leaving.said}")
        await reader.press("question_mark", *["pagedown"] * 9)
        assert reader.sees(leaving.help)


OTHERS = (VIM, GDB)


def conflict(keymap: Keymap) -> str:
    """The message on two actions with the same key."""
    return f"two actions on one key: give one of them others in the {keymap.name} keymap of tui/terminal/keymaps.py"


@pytest.mark.parametrize("keymap", KEYMAPS.values(), ids=KEYMAPS)
def test_every_key_has_one_action_and_every_action_a_key(keymap: Keymap) -> None:
    counts = Counter(key for entry in keymap.entries for key in entry.keys)
    twice = {key: [e.action for e in keymap.entries if key in e.keys] for key, many in counts.items() if many > 1}
    assert twice == {}, conflict(keymap)
    assert not keymap.prefixes.intersection(counts), (
        f"a key that waits for a second one has no action of its own; {conflict(keymap)}"
    )
    assert [entry.action for entry in keymap.entries] == [entry.action for entry in KEYMAP]
    assert all(entry.keys for entry in keymap.entries)


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_changed_actions_of_keymaps_exist(keymap: Keymap) -> None:
    changed = {entry.action for entry, before in zip(keymap.entries, KEYMAP, strict=True) if entry != before}
    assert changed
    assert set(keymap.changes) <= changed <= set(DEFAULT.by_action)


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_taken_key_moves_to_a_two_key_sequence(keymap: Keymap) -> None:
    taken = {part for keys in keymap.changes.values() for key in keys for part in (key, key.partition(" ")[0])}
    for entry, before in zip(keymap.entries, KEYMAP, strict=True):
        if entry.action in keymap.changes:
            assert entry.keys == keymap.changes[entry.action]
        else:
            left = tuple(key for key in before.keys if key not in taken)
            assert entry.keys == (left or (f"{keymap.behind} {before.keys[0]}",))


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_new_key_works_in_every_keymap(keymap: Keymap, monkeypatch: pytest.MonkeyPatch) -> None:
    used = {key for entry in KEYMAP for key in entry.keys}
    free = [letter for letter in ascii_letters if letter not in used and letter not in ("g", "z")]
    more = tuple(Key(f"new({letter!r})", (letter,), "New", letter) for letter in free)
    monkeypatch.setattr(keymap_module, "KEYMAP", (*KEYMAP, *more))
    grown = Keymap(keymap.name, keymap.changes, keymap.behind)
    keys = [key for entry in grown.entries for key in entry.keys]
    assert len(keys) == len(set(keys))
    assert not grown.prefixes.intersection(keys)
    moved = {entry.keys for entry in grown.entries if entry.group == "New" and len(entry.keys[0]) > 1}
    assert {"vim": ("g j",), "gdb": ("semicolon l",)}[keymap.name] in moved


def test_vim_and_gdb_keymaps_have_their_usual_keys() -> None:
    rows = ("app.row(1)", "app.row(-1)", "move('fold')", "move('unfold')")
    assert [VIM.by_action[action].first for action in rows] == list("jkhl")
    assert (VIM.by_action["places"].first, GDB.by_action["app.ask_thing"].first) == ("gh", ";i")
    actions = ("jump('first')", "search(True)", "search(False)", "pane(11)")
    assert [VIM.by_action[action].shown for action in actions] == ["gg Home", "n .", "N ,", "gK"]
    gdb = GDB.by_action
    assert [gdb[f"move('{how}')"].first for how in ("into", "over", "out", "resume")] == list("snfc")
    assert [gdb[f"move('{how}_back')"].first for how in ("into", "over", "out", "resume")] == ["rs", "rn", "rf", "rc"]
    assert [gdb[action].first for action in ("ask_breakpoint", "breakpoints", "ask_filter")] == ["b", "ib", ";f"]


def test_hints_help_and_footer_follow_the_active_keymap() -> None:
    use(VIM)
    assert (key_of("search(True)").first, pane_key(11)) == ("n", "gK")
    text = "\n".join(row.plain for row in help_rows(1))
    assert all(f"{entry.shown:<14}{entry.help}" in text for entry in VIM.entries)
    use(GDB)
    assert "s step" in footer_row(200).plain
    use(None)
    assert in_force() is DEFAULT


def test_environment_sets_the_keymap_unless_one_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "vim")
    assert use_from_environment() == ""
    assert in_force() is VIM
    use_named("default")
    assert use_from_environment() == ""
    assert in_force() is DEFAULT
    use(None)
    monkeypatch.setenv(VARIABLE, "emacs")
    wrong = "DISPATCHVIZ_KEYMAP is 'emacs', which is not a keymap (default, vim, gdb). The default keymap is used"
    assert use_from_environment() == wrong
    assert in_force() is DEFAULT
    assert tuple(KEYMAPS) == NAMES_IN_OPTIONS


@pytest.mark.parametrize("keymap", KEYMAPS.values(), ids=KEYMAPS)
def test_every_key_of_another_keymap_has_an_answer(keymap: Keymap) -> None:
    use(keymap)
    here = {key for entry in keymap.entries for key in entry.keys} | keymap.prefixes
    there = {key.partition(" ")[0] for other in KEYMAPS.values() for entry in other.entries for key in entry.keys}
    assert set(of_other_keymaps()) == there - here
    assert all(meanings(key) and keymap not in dict(meanings(key)) for key in there - here)


async def test_vim_keys_work_in_the_stepper() -> None:
    use(DEFAULT)
    async with stepper(forum()) as reader:
        await reader.press("j")
        assert reader.at == 0
        assert reader.sees(f"j is a key of --keymap vim: {DEFAULT.by_action['app.row(1)'].help}; here that is ↓")
        await reader.press("down", "up")
        assert not reader.sees("--keymap")
        reader.app.use_keymap("vim")
        await reader.press("G")
        assert reader.at == last_step(forum())
        await reader.press("g")
        assert reader.sees("g, then:", "g first step", "K the structured kernel")
        await reader.press("g")
        assert reader.at == 0
        await reader.press("j")
        below = reader.at
        await reader.press("j", "k")
        assert 0 < below == reader.at
        await reader.press("slash", *"nodecreated", "enter")
        first = reader.at
        await reader.press("n")
        assert reader.at > first
        await reader.press("N", "ctrl+o")
        assert reader.at > first


async def test_gdb_keys_work_in_the_stepper() -> None:
    use(GDB)
    async with stepper(forum()) as reader:
        await reader.press("s", "s", "r")
        assert reader.sees("r, then:", "s previous step", "c continue backwards to the previous one")
        await reader.press("s")
        assert reader.at == 1
        await reader.press("semicolon", "f", *"nodecreated", "enter")
        assert reader.sees("filter: nodecreated")
        await reader.press("i", "x")
        assert reader.sees("ix is not a key sequence.", "b list the breakpoints")


async def test_the_palette_changes_the_keymap_and_has_its_groups_in_order() -> None:
    async with stepper(forum()) as reader:
        await reader.press("ctrl+p")
        await reader.until(lambda: reader.sees("Step: next step, into the calls that this one makes"))
        titles = [text for text in (row.strip("┃│ ▎▊▄▀█▁") for row in reader.screen) if ": " in text]
        steps = [entry for entry in KEYMAP if entry.group == "Step"]
        found = [title for title in titles if title.startswith("Step: ")]
        assert found[:4] == [f"Step: {entry.help}" for entry in steps[:4]]
        await reader.press(*"the vim keymap")
        await reader.until(lambda: reader.sees("Keys: the vim keymap"))
        await reader.press("enter")
        await reader.until(lambda: in_force() is VIM)
        await reader.until(lambda: reader.app.screen is reader.app.view)
        await reader.press("G", "g", "g")
        assert reader.at == 0
        await reader.press("j")
        assert reader.at > 0


@pytest.mark.long
def test_the_option_is_checked_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('ran')\n")
    refused = dispatchviz("run", "--keymap", "emacs", "loud.py", cwd=tmp_path)
    assert refused.status == 2
    assert "'emacs' is not one of 'default', 'vim', 'gdb'" in refused.err
    assert "ran" not in refused.out + refused.err
    taken = dispatchviz("run", "--keymap", "vim", "--plain", "loud.py", cwd=tmp_path)
    assert taken.status == 0


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
AutogradCUDA wins  call of aten::add.Tensor(self = x, other = y)
   x, y      {AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA}
 + included  {ADInplaceOrView, BackendSelect}
 − excluded  {AutocastCUDA} by the thread
 − mask      {ADInplaceOrView, BackendSelect} fall through here
 = left      {AutogradCUDA, CUDA} → AutogradCUDA"""

CAT = """\
AutogradCPU wins  call of aten::cat(13 tensors)
   13 tensors  {AutocastCPU, AutogradCPU, ADInplaceOrView, CPU}
 + included    {ADInplaceOrView, BackendSelect}
 − excluded    {AutocastCPU} by the thread
 − mask        {ADInplaceOrView, BackendSelect} fall through here
 = left        {AutogradCPU, CPU} → AutogradCPU
13 tensors: first_hidden_layer_activations to thirteenth_hidden_layer_activations"""


def test_card_begins_with_selected_key_and_a_lane_per_set() -> None:
    for trace, operator, expected in ((example("forum.py"), "aten::add.Tensor", ADD), (cat(), "aten::cat", CAT)):
        shown = "\n".join(row.plain for row in rows(trace, the_call(trace, operator), 74))
        assert shown.startswith(expected)


def test_one_lane_is_highlighted_at_a_sub_step() -> None:
    trace = example("forum.py")
    at = the_call(trace, "aten::add.Tensor")
    lit = {stage: [row.plain for row in rows_at(trace, at, 74, stage) if row.shaded] for stage in STAGES}
    assert [row.strip("▶ +−=").split()[0] for found in lit.values() for row in found] == [
        "x,", "included", "excluded", "mask", "left",
    ]  # fmt: skip
    assert all(row.startswith("▶") for found in lit.values() for row in found)


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

"""The keymaps beside the default one: every action has a key, no key has two actions, hints and help follow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_letters

import pytest

from dispatchviz.cli.options import KEYMAPS as NAMES_IN_OPTIONS
from dispatchviz.tui.screens.help_screen import help_rows
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
from dispatchviz.views.bars.footer_bar import footer_row
from dispatchviz.views.keymap import DEFAULT, KEYMAP, Key, Keymap, in_force, key_of, pane_key, use
from tests.cli.command import dispatchviz
from tests.steps import last_step

from .screens import Reader, read
from .synthetic import forum

OTHERS = (VIM, GDB)


def told(keymap: Keymap) -> str:
    """How to mend two actions on one key."""
    return f"two actions on one key: give one of them others in the {keymap.name} keymap of tui/terminal/keymaps.py"


@pytest.mark.parametrize("keymap", KEYMAPS.values(), ids=KEYMAPS)
def test_no_key_does_two_things_and_every_action_has_one(keymap: Keymap) -> None:
    counts = Counter(key for entry in keymap.entries for key in entry.keys)
    twice = {key: [e.action for e in keymap.entries if key in e.keys] for key, many in counts.items() if many > 1}
    assert twice == {}, told(keymap)
    assert not keymap.prefixes.intersection(counts), (
        f"a key that waits for a second one has no action of its own; {told(keymap)}"
    )
    assert [entry.action for entry in keymap.entries] == [entry.action for entry in KEYMAP]
    assert all(entry.keys for entry in keymap.entries)


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_what_a_keymap_changes_exists(keymap: Keymap) -> None:
    changed = {entry.action for entry, before in zip(keymap.entries, KEYMAP, strict=True) if entry != before}
    assert changed
    assert set(keymap.changes) <= changed <= set(DEFAULT.by_action)


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_a_key_that_is_taken_is_typed_behind_another_one(keymap: Keymap) -> None:
    taken = {part for keys in keymap.changes.values() for key in keys for part in (key, key.partition(" ")[0])}
    for entry, before in zip(keymap.entries, KEYMAP, strict=True):
        if entry.action in keymap.changes:
            assert entry.keys == keymap.changes[entry.action]
        else:
            left = tuple(key for key in before.keys if key not in taken)
            assert entry.keys == (left or (f"{keymap.behind} {before.keys[0]}",))


@pytest.mark.parametrize("keymap", OTHERS, ids=str)
def test_whoever_adds_a_key_need_not_think_of_the_other_keymaps(
    keymap: Keymap, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_keys_of_vim_and_of_gdb() -> None:
    rows = ("app.row(1)", "app.row(-1)", "move('fold')", "move('unfold')")
    assert [VIM.by_action[action].first for action in rows] == list("jkhl")
    assert (VIM.by_action["places"].first, GDB.by_action["app.ask_thing"].first) == ("gh", ";i")
    actions = ("jump('first')", "search(True)", "search(False)", "pane(11)")
    assert [VIM.by_action[action].shown for action in actions] == ["gg Home", "n .", "N ,", "gK"]
    gdb = GDB.by_action
    assert [gdb[f"move('{how}')"].first for how in ("into", "over", "out", "resume")] == list("snfc")
    assert [gdb[f"move('{how}_back')"].first for how in ("into", "over", "out", "resume")] == ["rs", "rn", "rf", "rc"]
    assert [gdb[action].first for action in ("ask_breakpoint", "breakpoints", "ask_filter")] == ["b", "ib", ";f"]


def test_hints_help_and_footer_follow_the_keymap_in_force() -> None:
    use(VIM)
    assert (key_of("search(True)").first, pane_key(11)) == ("n", "gK")
    text = "\n".join(row.plain for row in help_rows(1))
    assert all(f"{entry.shown:<14}{entry.help}" in text for entry in VIM.entries)
    use(GDB)
    assert "s step" in footer_row(200).plain
    use(None)
    assert in_force() is DEFAULT


def test_the_environment_names_one_unless_one_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "vim")
    assert use_from_environment() == ""
    assert in_force() is VIM
    use_named("default")
    assert use_from_environment() == ""
    assert in_force() is DEFAULT
    use(None)
    monkeypatch.setenv(VARIABLE, "emacs")
    wrong = "DISPATCHVIZ_KEYMAP is 'emacs': the keymaps are default, vim, gdb; the default one is used"
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


def test_a_key_of_another_keymap_says_whose_it_is_and_what_is_it_here() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("j")
        assert reader.at == before
        assert reader.sees(f"j is a key of --keymap vim: {DEFAULT.by_action['app.row(1)'].help}; here that is ↓")
        await reader.press("down")
        assert not reader.sees("--keymap")

    use(DEFAULT)
    before = 0
    read(forum(), story)


def test_vim_in_the_stepper() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("G")
        assert reader.at == last_step(forum())
        await reader.press("g")
        assert reader.sees("g and then:", "g first step", "K the structured kernel")
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

    use(VIM)
    read(forum(), story)


def test_gdb_in_the_stepper() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("s", "s", "r")
        assert reader.sees("r and then:", "s the step before", "c continue backwards to the last of these")
        await reader.press("s")
        assert reader.at == 1
        await reader.press("semicolon", "f", *"nodecreated", "enter")
        assert reader.sees("filter: nodecreated")
        await reader.press("i", "x")
        assert reader.sees("ix leads nowhere.", "b list the breakpoints")

    use(GDB)
    read(forum(), story)


def test_the_palette_changes_the_keymap_and_has_its_groups_in_order() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("ctrl+p")
        await reader.until(lambda: reader.sees("Step: next step, into what this one starts"))
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

    read(forum(), story)


@pytest.mark.long
def test_the_option_is_checked_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('ran')\n")
    refused = dispatchviz("run", "--keymap", "emacs", "loud.py", cwd=tmp_path)
    assert refused.status == 2
    assert "'emacs' is not one of 'default', 'vim', 'gdb'" in refused.err
    assert "ran" not in refused.out + refused.err
    taken = dispatchviz("run", "--keymap", "vim", "--plain", "loud.py", cwd=tmp_path)
    assert taken.status == 0

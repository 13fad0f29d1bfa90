"""Tests of the home screen: its contents and its keys."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from dispatchviz.foundation.shipped_examples import examples
from dispatchviz.running.program import run
from dispatchviz.tui.home import home_rows
from dispatchviz.tui.home.home_actions import HOME_ACTIONS
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_keymap import CHANGES, HOME_KEYMAP, home_keys
from dispatchviz.tui.home.home_list import QUESTION, Home, program_entries
from dispatchviz.tui.home.home_questions import common_beginning, paths
from dispatchviz.tui.home.home_replies import Chosen
from dispatchviz.tui.home.kept_trace import ago, facts_of, in_bytes
from dispatchviz.tui.terminal.keymaps import KEYMAPS, use_named
from dispatchviz.views.keymap import FOOTER_KEYS

from .screens import SIZES, Reader, home, home_with

FORUM = Chosen("examples/lessons/forum.py", "forum")
SECOND, THIRD = (entry.name for entry in program_entries(examples())[1:3])


def chosen(reader: Reader) -> str:
    """The highlighted row."""
    (row,) = [row for row in reader.screen if "▶" in row]
    return row.partition("▶ ")[2].split("  ")[0]


# -- the list ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
async def test_first_screen_starts_with_the_forum_program(size: tuple[int, int]) -> None:
    async with home(size=size) as reader:
        assert len(reader.screen) == size[1]
        assert chosen(reader) == "forum"
        assert reader.sees("Start here", "why AutogradCUDA runs first", "dispatchviz lesson forum")
        assert reader.sees("Lessons", SECOND, "Enter open", "? help", "q quit")
        await reader.press("ctrl+c")
        assert reader.sees("q quits")
        await reader.press("q")
        assert reader.app._exit
    assert reader.app.return_value is None


def test_every_row_has_a_description() -> None:
    home = home_with()
    rows = [home_rows.list_row(home, at).plain for at in range(len(home.entries))]
    assert len(rows) == len(examples()) + 5
    for row, entry in zip(rows, home.entries, strict=True):
        assert entry.name in row
        assert entry.shows.replace("`", "") in row
        assert "`" not in row


async def test_small_terminal_shows_needed_size_and_recovers() -> None:
    async with home(size=(59, 15)) as reader:
        assert reader.sees("The terminal is 59x15. dispatchviz needs at least 60x15")
        await reader.pilot.resize_terminal(80, 24)
        await reader.pilot.pause()
        assert chosen(reader) == "forum"
        await reader.pilot.resize_terminal(1, 1)
        await reader.pilot.pause()


async def test_list_moves_by_rows_pages_and_groups() -> None:
    async with home() as reader:
        await reader.press("up", "N")
        assert chosen(reader) == "forum", "the first row is the first"
        await reader.press("down", "n")
        assert chosen(reader) == THIRD
        await reader.press("tab")
        assert chosen(reader) == "forum", "the program without the lesson"
        await reader.press("tab")
        assert chosen(reader) == "requires_grad_keys", "the first misconception"
        await reader.press("tab")
        assert chosen(reader) == "add"
        await reader.press("tab")
        assert chosen(reader) == "convnet"
        await reader.press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
        assert chosen(reader) == SECOND
        await reader.press("G")
        assert chosen(reader) == "run"
        await reader.press("tab")
        assert chosen(reader) == "forum", "round and round"
        await reader.press("pagedown")
        assert reader.app.home.at == reader.app.view.page
        await reader.press("pageup", "end", "pageup", "home")
        assert chosen(reader) == "forum"


# -- what rows open ---------------------------------------------------------------------------------------------------


async def test_enter_chooses_a_program() -> None:
    async with home() as reader:
        await reader.press("enter")
    assert reader.app.return_value == FORUM


async def test_fast_keys_are_handled_in_order() -> None:
    found = home_with().filtered("vmap").entries[2]
    async with home() as reader:
        await reader.press_at_once("nn/vmap\nnn\n")
    assert reader.app.return_value == Chosen(found.target, found.name)


async def test_click_chooses_a_row_and_second_click_opens_it() -> None:
    async with home() as reader:
        (y,) = [y for y, row in enumerate(reader.screen) if f"{SECOND} " in row]
        await reader.pilot.click(offset=(10, y))
        assert chosen(reader) == SECOND
        (title,) = [y for y, row in enumerate(reader.screen) if "Lessons" in row]
        await reader.pilot.click(offset=(10, title))
        assert chosen(reader) == SECOND
        await reader.pilot.click(offset=(10, y))
    assert reader.app.return_value == Chosen(f"examples/lessons/{SECOND}.py", SECOND)


async def test_program_source_and_command_need_no_run() -> None:
    async with home() as reader:
        await reader.press("v")
        assert reader.sees("examples/lessons/forum.py (Esc or q closes)", "z = torch.add(x, y)")
        await reader.press("q")
        assert chosen(reader) == "forum"
        await reader.press("y")
        assert reader.sees("Copied: dispatchviz lesson forum")
        assert reader.app.clipboard == "dispatchviz lesson forum"
        await reader.press("G", "v")
        assert reader.sees("This row is not a program")
        assert reader.sees("Recent traces", "none yet: the programs that you run here leave traces", "Look up, open")
        await reader.press("slash", *"table")
        assert not reader.sees("none yet")


# -- filter -----------------------------------------------------------------------------------------------------------


async def test_filter_follows_typing_and_escape_restores_rows() -> None:
    async with home() as reader:
        await reader.press("n", "slash", *"vmap")
        assert reader.sees("filter: vmap", "Training loops", "meta_learning")
        assert not reader.sees("Start here")
        await reader.press("enter")
        assert reader.sees("filter: vmap  (", f" of {len(examples()) + 5}; Esc shows all)")
        await reader.press("escape")
        assert reader.sees("Start here", "Home ──")
        assert not reader.sees("filter:")
        await reader.press("g", "n", "slash", *"gpt", "escape")
        assert chosen(reader) == SECOND
        await reader.press("slash", *"zzz", "enter")
        assert reader.sees("No row contains zzz. Esc shows all rows")
        await reader.press("enter", "v", "y", "n", "tab", "pagedown", "G", "escape")
        assert chosen(reader) == SECOND
    assert reader.app.return_value is None


# -- looking up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "words"), [
    ("tadd\n", ("dispatchviz table add", "aten::add.Tensor  (build cuda)", "wrapper_CUDA_add_Tensor")),
    ("wlinear PrivateUse1\n", ("dispatchviz why linear PrivateUse1", "Kernels that could fill this entry, best first")),
    ("kAutogradCUDA\n", ("dispatchviz keys AutogradCUDA", "AutogradCUDA")),
    ("k\n", ("dispatchviz keys (Esc", "PythonTLSSnapshot")),
    ("cadd\n", ("dispatchviz codegen add", "structured_delegate: add.out")),
    ("/raw key set\n\n0x1000010002\n", ("dispatchviz keys 0x1000010002", "AutogradCUDA")),
])  # fmt: skip
async def test_key_or_row_opens_a_look_up(keys: str, words: tuple[str, ...]) -> None:
    async with home(size=(100, 40)) as reader:
        await reader.press_at_once(keys)
        assert reader.sees(*words)
        await reader.press("G", "pagedown", "g")
        assert reader.sees(*words)
        before = reader.text
        await reader.pilot.resize_terminal(60, 15)
        await reader.pilot.pause()
        assert reader.sees(*words[:1])
        assert reader.text != before
        await reader.press("escape")
        assert keys[0] == "/" or chosen(reader) == "forum"


async def test_wrong_answer_shows_reason_and_can_be_corrected() -> None:
    async with home() as reader:
        await reader.press_at_once("wlinearr PrivateUse1\n")
        assert reader.sees("there is no operator 'linearr'; did you mean aten::linear")
        assert reader.sees("dispatchviz why: linearr PrivateUse1")
        await reader.press("home", *("right",) * 6, "delete", "enter")
        assert reader.sees("dispatchviz why linear PrivateUse1 (Esc or q closes)")
        await reader.press("escape", "t", *"[/]", "enter")
        assert reader.sees("there is no operator '[/]'")
        await reader.press("escape")
        assert not reader.sees("dispatchviz table:")


# -- files ------------------------------------------------------------------------------------------------------------


async def test_tab_completes_a_file_and_enter_chooses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("train.py", "train_more.py", ".hidden.py", "runs/one.dvtrace"):
        (tmp_path / name).touch()
    async with home() as reader:
        await reader.press("o")
        assert reader.sees("runs/  train.py  train_more.py")
        assert not reader.sees(".hidden")
        await reader.press("t", "tab")
        assert reader.sees("Run or open: train")
        await reader.press("enter")
        assert reader.sees("there is no file train", "Run or open: train")
        await reader.press("ctrl+u", "r", "tab")
        await reader.press("enter")
        assert reader.sees("runs/ is a folder. Name a file in it")
        await reader.press("tab", "enter")
    assert reader.app.return_value == Chosen("runs/one.dvtrace")


def test_names_are_completed_as_they_are_typed(tmp_path: Path) -> None:
    for name in ("abc.py", "abd.py", ".a", "b\x1b.py"):
        (tmp_path / name).touch()
    assert paths(f"{tmp_path}/a") == [f"{tmp_path}/abc.py", f"{tmp_path}/abd.py"]
    assert paths(f"{tmp_path}/.") == [f"{tmp_path}/.a"]
    assert paths(f"{tmp_path}/b") == [], "what cannot be shown cannot be typed"
    assert paths(f"{tmp_path}/nothing/") == []
    assert common_beginning(paths(f"{tmp_path}/a")) == f"{tmp_path}/ab"
    assert common_beginning([]) == ""


# -- traces -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "forum.dvtrace"
    run("examples/forum.py").trace.save(path)
    return path


async def test_stored_trace_shows_its_contents(trace: Path) -> None:
    async with home(trace, size=(100, 30)) as reader:
        await reader.until(lambda: any("steps" in entry.shows for entry in reader.app.home.traces))
        await reader.press("shift+tab", "shift+tab")
        assert reader.sees("Recent traces", "▶ forum  just now · ", " kB · 326 steps · examples/forum.py")
        assert reader.app.home.entry.command == f"dispatchviz open {trace}"
        await reader.press("enter")
    assert reader.app.return_value == Chosen(str(trace), "forum")


HOSTILE = ("[/] [a] f[N]", "\x1b[31mred\x07", "\u202etxt")


async def test_damaged_traces_and_hostile_names_have_their_rows(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.dvtrace").write_bytes(trace.read_bytes()[:3000])
    (tmp_path / "rubbish.dvtrace").write_bytes(b"\x00\xff" * 50)
    (tmp_path / "empty.dvtrace").touch()
    gone = tmp_path / "gone.dvtrace"
    gone.symlink_to(tmp_path / "nowhere")
    hostile = [tmp_path / f"{name.replace('/', '|')}.dvtrace" for name in HOSTILE]
    for path in hostile:
        path.write_bytes(trace.read_bytes())
    files = [trace, *hostile, *(tmp_path / f"{name}.dvtrace" for name in ("cut", "rubbish", "empty", "gone"))]
    async with home(*files, size=(119, 60)) as reader:
        await reader.until(lambda: any("steps" in entry.shows for entry in reader.app.home.traces))
        await reader.press("G")
        assert reader.sees("[|] [a] f[N]", "\\x1b[31mred\\x07", "\\u202etxt")
        assert reader.sees("0 steps", "is cut off", "is not a dispatchviz trace")
        assert not reader.sees("gone")
        assert not any(character in reader.text for character in "\x1b\x07\u202e")


def test_trace_in_recording_is_not_read(tmp_path: Path) -> None:
    part = tmp_path / f"long.part-{os.getpid()}.dvtrace"
    part.write_bytes(b"half of")
    assert facts_of(part) == "is being recorded"


@pytest.mark.parametrize(("seconds", "said"), [
    (-5, "just now"), (59, "just now"), (60, "1 minute ago"), (3700, "1 hour ago"), (7200, "2 hours ago"),
    (86400, "1 day ago"), (10**7, "115 days ago"),
])  # fmt: skip
def test_age_is_in_its_largest_unit(seconds: int, said: str) -> None:
    assert ago(seconds) == said


@pytest.mark.parametrize(("size", "said"), [
    (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (25_400, "25 kB"), (3_210_000, "3.2 MB"),
    (10**10, "10 GB"),
])  # fmt: skip
def test_size_is_in_its_largest_unit(size: int, said: str) -> None:
    assert in_bytes(size) == said


# -- the table of keys ------------------------------------------------------------------------------------------------


def test_every_action_exists() -> None:
    for entry in HOME_KEYMAP:
        name = entry.action.partition("(")[0]
        exists = hasattr(HomeApp, f"action_{name[4:]}") if name.startswith("app.") else name in {*HOME_ACTIONS, "page"}
        assert exists, name


async def test_help_and_footer_come_from_the_keymap() -> None:
    text = "\n".join(row.plain for row in home_rows.help_rows())
    for entry in HOME_KEYMAP:
        assert f"{entry.shown:<17}{entry.help}" in text
    assert len([entry for entry in HOME_KEYMAP if entry.footer]) <= FOOTER_KEYS
    for width in (60, 80, 200):
        assert home_rows.footer(width).width <= width
        assert "q quit" in home_rows.footer(width).plain
    async with home() as reader:
        await reader.press("question_mark")
        assert reader.sees("Every row is a program, a trace or a question.")
        await reader.press("question_mark")
        assert chosen(reader) == "forum"


def test_every_question_has_a_key() -> None:
    asked = {entry.target for entry in home_with().entries if entry.kind == QUESTION}
    assert {f"ask('{name}')" for name in asked} <= {entry.action for entry in HOME_KEYMAP}


async def test_vim_keys_move_through_the_list() -> None:
    async with home() as reader:
        await reader.press("j")
        assert chosen(reader) == "forum"
        reader.app.use_keymap("vim")
        await reader.press("j", "j", "k")
        assert chosen(reader) == SECOND
        await reader.press("ctrl+f", "ctrl+b", "g", "K")
        assert reader.sees("dispatchviz keys:")
        await reader.press("escape", "question_mark")
        assert reader.sees("j n ↓")


@pytest.mark.parametrize("name", KEYMAPS)
def test_every_key_of_the_home_screen_has_one_action(name: str) -> None:
    use_named(name)
    keys = [key for entry in home_keys() for key in entry.keys]
    assert len(keys) == len(set(keys))
    assert [entry.action for entry in home_keys()] == [entry.action for entry in HOME_KEYMAP]
    assert set(CHANGES) <= set(KEYMAPS)


# -- looks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(60, 15), (120, 40)])
async def test_no_color_removes_colors_and_keeps_signs(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with home(size=size) as reader:
        assert chosen(reader) == "forum"
        strips = reader.app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert any(style.reverse for style in styles), "the row of the cursor"
        colors = [color for style in styles for color in (style.color, style.bgcolor) if color is not None]
        assert all(color.is_default for color in colors)


def test_the_cursor_stays_on_its_entry_when_rows_come() -> None:
    home = Home(program_entries(examples())).goto(3)
    assert home.entry is not None
    assert replace(home, programs=home.programs[2:]).entry == home.entry
    assert replace(home, programs=home.programs[:2]).at == 0


async def test_wide_screen_previews_the_chosen_row() -> None:
    async with home(size=(120, 40)) as reader:
        assert reader.sees("─ examples/lessons/forum.py ─", "z = torch.add(x, y)")
        await reader.press("n")
        assert reader.sees(f"─ examples/lessons/{SECOND}.py ─")
        await reader.press("G")
        assert reader.sees("─ run ─", "train.py")
        await reader.pilot.resize_terminal(100, 30)
        await reader.pilot.pause()
        assert not reader.sees("─ run ─")
        await reader.pilot.click(offset=(90, 20))
        await reader.pilot.resize_terminal(200, 60)
        await reader.press("g")
        assert reader.sees("z = torch.add(x, y)")


@pytest.mark.parametrize(
    ("screen", "unneeded"),
    [
        ("home.home_app", "views.session"),
        ("app", "explain.graph.backward_graph"),
        ("app", "explain.codegen.structured_classes"),
    ],
)
def test_a_first_screen_loads_only_what_it_shows(screen: str, unneeded: str) -> None:
    loads = f"import sys, dispatchviz.tui.{screen}; sys.exit('dispatchviz.{unneeded}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads], check=False).returncode == 0

"""The stepper as a reader uses it: keys in, plain text of the screen out."""

from __future__ import annotations

import pytest
from textual.command import CommandList

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.testing import event, redispatch
from dispatchviz.tui.app import show
from dispatchviz.tui.keymap import KEYMAP
from dispatchviz.tui.layout.pane_layout import CALLS, GRAPH, KEYS, PANES, SOURCE, STEPS
from dispatchviz.tui.widgets.pane_view import PaneView
from tests.hostile_texts import raw
from tests.steps import last_step, line, step, steps

from .screens import SIZES, Reader, read
from .synthetic import awkward, big, forum, raising

END = last_step(forum())

AWKWARD = ["[/]", "[a]", "f[N]", "[2, 3]", "[bold]x", "$x", "a\nb", "\x1b[2J", "日本語", "{x!r}"]


@pytest.mark.parametrize("size", SIZES)
def test_first_screen(size: tuple[int, int]) -> None:
    async def story(reader: Reader) -> None:
        assert reader.sees("5 lines · 2 operator calls · 3 Nodes · 1 backward", "→ unfold", "s step", "keys")
        assert reader.sees(f"forum.py  0/{END}  depth 0  forward", "cuda: emulated on NumPy (CuPy is not installed)")
        assert reader.sees("▶  0 ", " 3  x = torch")
        assert all(len(row) == size[0] for row in reader.screen)

    read(forum(), story, size)


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_every_step_says_why_and_where_at_every_size(size: tuple[int, int]) -> None:
    async def story(reader: Reader) -> None:
        for at in range(1, len(forum())):
            await reader.move("into")
            assert f"{at}/{END}" in reader.screen[0]
            await reader.until(lambda at=at: f"▶ {at:>2} " in reader.text)
            assert reader.sees("cuda: emulated on NumPy (CuPy is not installed)")
            assert reader.app.view.query_one("#why").plain[0].strip()

    read(forum(), story, size)


@pytest.mark.long
def test_every_step_can_be_taken_back() -> None:
    async def story(reader: Reader) -> None:
        screens = [reader.text]
        await reader.press("G", "g")
        for _ in range(END):
            await reader.move("into")
            screens.append(reader.text)
        for at in range(END - 1, 0, -1):
            await reader.move("into_back")
            assert reader.at == at
            assert reader.screen[0] == screens[at].split("\n")[0]

    read(forum(), story)


def test_the_key_set_card_shows_the_whole_computation() -> None:
    trace = forum()

    async def story(reader: Reader) -> None:
        rows = reader.app.view.panes[KEYS].plain
        assert rows[0].split()[:2] == ["AutogradCUDA", "wins"]
        assert any(row.endswith("= left      {AutogradCUDA, CUDA} → AutogradCUDA") for row in rows)
        assert any("x, y  united  incl  excl  mask  left" in row for row in rows)
        row = next(row for row in rows if row.endswith("◀ wins"))
        assert row.split() == ["AutogradCUDA", "■", "■", "·", "·", "■", "■", "◀", "wins"]
        assert any("ADInplaceOrView" in row and "×" in row for row in rows)
        await reader.press("w")
        assert reader.sees("effective  0x1000010002")

    read(trace, story, size=(140, 40), step=step(trace, ev.KeySetComputed))


def test_moves_and_their_twins() -> None:
    trace = forum()
    lines = steps(trace, ev.SourceLine)
    call = step(trace, ev.Dispatched)
    skipped = step(trace, ev.FallthroughSkipped)

    async def story(reader: Reader) -> None:
        await reader.press("c", "c")
        assert reader.at == lines[2]
        await reader.press("C")
        assert reader.at == lines[1]
        await reader.press("n")
        assert reader.at == lines[2]
        await reader.press("N")
        assert reader.at == lines[1]
        await reader.press("down", "up")
        assert reader.at == lines[1]
        await reader.press("colon", *str(skipped), "enter")
        assert reader.at == skipped
        await reader.press("r")
        assert reader.at == step(trace, event(ev.NameBound, name="z"))
        await reader.press("backspace", "R")
        assert reader.at == call
        await reader.press("u", "u")
        assert reader.at == line(trace, 6)
        await reader.press("d", "d")
        assert reader.at == call
        await reader.press("right", "left", "s", "S")
        assert reader.at == call
        await reader.press("end")
        assert reader.at == END
        await reader.press("home")
        assert reader.at == 0

    read(trace, story, step=lines[0])


def test_jumps_leave_notes_and_are_undone() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("G")
        assert reader.sees(f"From step 0 to step {END}", "Backspace returns")
        await reader.press("backspace")
        assert reader.at == 0
        await reader.press("backspace")
        assert reader.sees("No jump to undo")
        await reader.press("S")
        assert reader.sees("No row before this one")

    read(forum(), story)


@pytest.mark.long
def test_go_to_a_step() -> None:
    async def story(reader: Reader) -> None:
        for text, at in [("37", 37), ("+10", 47), ("-7", 40), ("50%", END // 2), ("999", END)]:
            await reader.press("colon", *("plus" if c == "+" else "minus" if c == "-" else c for c in text), "enter")
            assert reader.at == at
        await reader.press("colon", "x", "enter")
        assert reader.sees("x is no step")
        await reader.press("colon", "5", "escape")
        assert reader.at == END
        await reader.press("s", "g")
        assert reader.at == 0

    read(forum(), story)


def test_keys_typed_before_the_question_appears_belong_to_it() -> None:
    async def story(reader: Reader) -> None:
        await reader.press_at_once(":37\n")
        assert reader.at == 37
        await reader.press_at_once("/redispatch\n")
        assert reader.sees("Hit 1 of")

    read(forum(), story)


@pytest.mark.long
def test_search_goes_along_while_typing() -> None:
    first, *_, last = nodes = steps(forum(), ev.NodeCreated)

    async def story(reader: Reader) -> None:
        await reader.press("slash", *"redis")
        assert reader.at == step(forum(), redispatch())
        assert reader.sees("Hit 1 of 1")
        await reader.press("escape")
        assert reader.at == 0
        await reader.press("slash", *"nodecreated", "enter")
        assert (reader.at, reader.sees(f"Hit 1 of {len(nodes)}", ". next", ", previous")) == (first, True)
        await reader.press(*["full_stop"] * (len(nodes) - 1))
        assert reader.at == last
        await reader.press("full_stop")
        assert (reader.at, reader.sees("went round the end")) == (first, True)
        await reader.press("comma")
        assert reader.at == last
        await reader.press("backspace")
        assert reader.at == first
        await reader.press("slash", *"nothing like it", "enter")
        assert (reader.at, reader.sees("No step has nothing like it")) == (first, True)

    read(forum(), story)


def test_search_again_without_a_search_says_how() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("full_stop")
        assert reader.sees("Nothing searched for yet: / starts a search")

    read(forum(), story)


def test_marks_stop_continue_and_are_seen() -> None:
    trace = forum()
    marked = step(trace, ev.BindingEntered)
    before = [at for at in steps(trace, ev.SourceLine) if 0 < at < marked]

    async def story(reader: Reader) -> None:
        await reader.press("colon", *str(marked), "enter", "m", "enter")
        assert reader.sees(f"●{marked:>2}")
        await reader.press("g")
        assert reader.sees(f"●{line(trace, 6):>2}")  # the row that it is folded into
        for at in [*before, marked]:
            await reader.press("c")
            assert reader.at == at
        await reader.press("m")
        assert reader.sees("No longer marked")

    read(trace, story)


def test_hidden_panes_follow_the_step_until_one_is_chosen() -> None:
    trace = forum()
    computed = step(trace, ev.KeySetComputed)

    async def story(reader: Reader) -> None:
        def shown() -> list[int]:
            return [number for number, pane in reader.app.view.panes.items() if pane.display]

        assert shown() == [STEPS, SOURCE]
        await reader.press("colon", *str(computed), "enter")
        assert shown() == [STEPS, KEYS]
        await reader.press("6")
        assert (shown(), reader.app.view.focused.number) == ([STEPS, KEYS, GRAPH], GRAPH)
        assert reader.sees("6 Backward graph: none yet, next at step")
        await reader.press("colon", *str(step(trace, ev.NodeCreated)), "enter")
        assert shown() == [STEPS, GRAPH]
        await reader.press("1", "colon", *str(line(trace, 3)), "enter")
        assert shown() == [STEPS, SOURCE]

    read(trace, story, (80, 24), line(trace, 3))


def test_enter_zooms_and_escape_returns() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("5", "enter")
        assert "Source" in reader.text
        assert "Steps" not in reader.text
        await reader.press("s")
        assert reader.at == 1
        await reader.press("2")
        assert reader.sees("2 Key set")
        await reader.press("escape")
        assert reader.sees("1 Steps", "5 Source")
        await reader.press("enter", "enter")
        assert reader.sees("1 Steps", "5 Source")

    read(forum(), story)


def test_tab_goes_through_the_panes_and_paging_scrolls_them() -> None:
    async def story(reader: Reader) -> None:
        assert reader.app.view.focused.number == STEPS
        await reader.press("pagedown")
        assert reader.at > 5
        await reader.press("pageup")
        assert reader.at == 0
        await reader.press("tab")
        assert reader.app.view.focused.number == CALLS
        computed = step(forum(), ev.KeySetComputed)
        await reader.press("colon", *str(computed), "enter", "2", "pagedown")
        assert (reader.at, reader.app.view.panes[KEYS].port.top > 0) == (computed, True)

    read(forum(), story)


def test_what_a_step_changed_has_a_sign() -> None:
    trace = forum()
    call = step(trace, ev.Dispatched)

    async def story(reader: Reader) -> None:
        await reader.press("3")
        before = reader.app.view.panes[KEYS].plain
        for _ in range(call):
            await reader.move("into")
        after = reader.app.view.panes[KEYS].plain
        assert not any(row.startswith(("+", "~")) for row in before)
        assert any(row.startswith("  AutogradCUDA") for row in after)  # all of it is new: no sign says so
        await reader.press("s")
        assert not any(row.startswith(("+", "~")) for row in reader.app.view.panes[KEYS].plain)
        await reader.press("colon", *str(step(trace, redispatch())), "enter")
        changed = "\n".join(reader.app.view.panes[3].plain)
        assert "~ cell    CUDA" in changed
        assert "CUDA (was AutogradCUDA)  2 of 137" in changed
        await reader.press("colon", *str(line(trace, 4)), "enter", "s")
        assert [row[0] for row in reader.app.view.panes[CALLS].plain] == [" "]

    read(trace, story)


def test_the_program_raised() -> None:
    async def story(reader: Reader) -> None:
        assert reader.at == len(raising()) - 1
        assert reader.sees("The program stopped here with an error", "S back")
        assert reader.sees("a leaf Variable that requires grad is being used in place")
        await reader.press("g")
        assert reader.at == 0

    read(raising(), story)


@pytest.mark.long
def test_the_step_asked_for() -> None:
    async def story(reader: Reader) -> None:
        assert reader.at == 1

    read(raising(), story, step=1)

    async def beyond(reader: Reader) -> None:
        assert reader.at == len(forum()) - 1

    read(forum(), beyond, step=5000)


def test_help_names_every_key_and_what_the_pane_shows() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("2", "question_mark")
        assert reader.sees("How the call around this step came to its key", "Shift plays the same step backwards")
        seen = reader.text
        for _ in range(12):
            await reader.press("pagedown")
            seen += reader.text
        assert all(entry.help in seen for entry in KEYMAP)
        await reader.press("q")
        assert reader.sees("1 Steps")
        await reader.press("f1", "escape")
        assert reader.sees("1 Steps")

    read(forum(), story)


def test_the_palette_finds_actions_by_name() -> None:
    async def story(reader: Reader) -> None:
        def offered() -> str:
            commands = reader.app.screen.query_one(CommandList)
            return "" if commands.highlighted is None else str(commands.options[commands.highlighted].hit.prompt)

        await reader.press("ctrl+p", *"last step")
        await reader.until(lambda: offered() == "Go to: last step")
        await reader.press("enter")
        await reader.until(lambda: reader.at == END)

    read(forum(), story)


@pytest.mark.parametrize(("text", "size"), [*((text, (120, 40)) for text in AWKWARD), (" ".join(AWKWARD), (80, 24))])
def test_awkward_words_are_shown_as_they_are(text: str, size: tuple[int, int]) -> None:
    trace = awkward(text)

    async def story(reader: Reader) -> None:
        await reader.press("g")
        for _ in range(len(trace)):
            await reader.move("into")
            assert not raw(reader.text)
        for number in PANES:
            reader.app.view.action_pane(number)
            reader.app.view.action_zoom()
            await reader.move("into_back")
            reader.app.view.action_zoom()
        await reader.pilot.pause()
        if text.isprintable() and text.isascii():
            everything = "\n".join(
                row for pane in reader.app.view.panes.values() if isinstance(pane, PaneView) for row in pane.plain
            )
            assert text in everything
            assert text in reader.text

    read(trace, story, size)


def test_a_click_on_a_step_goes_there() -> None:
    async def story(reader: Reader) -> None:
        await reader.pilot.click("#pane1", offset=(8, 5))
        clicked = line(forum(), 7)
        assert reader.at == clicked  # the fifth row
        assert reader.sees(f"From step 0 to step {clicked}")

    read(forum(), story)


def test_a_damaged_file_says_so_on_every_screen() -> None:
    whole = forum()
    trace = Trace(whole.header, whole.events, "x.jsonl is cut off: it opens up to step so and so")

    async def story(reader: Reader) -> None:
        for keys in ("s", "G", "enter"):
            await reader.press(keys)
            assert reader.sees(trace.notice, "cuda: emulated")

    read(trace, story, (80, 24))


def test_no_color_leaves_no_colour_and_every_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(reader: Reader) -> None:
        await reader.press("s")
        assert reader.sees("▶  1", "▌ 1 Steps")
        for strip in reader.app.screen._compositor.render_strips():
            for segment in strip:
                colours = (segment.style.color, segment.style.bgcolor) if segment.style else ()
                assert all(colour is None or colour.is_default for colour in colours)

    read(forum(), story)


def test_a_long_trace_opens_and_steps_like_a_short_one() -> None:
    trace = big(100_000)

    async def story(reader: Reader) -> None:
        assert reader.sees(f"0/{len(trace) - 1}")
        await reader.press("G")
        assert reader.at == len(trace) - 1
        assert reader.sees(f"▶ {len(trace) - 1}")
        await reader.press("S", "C")
        assert reader.at < len(trace) - 2

    read(trace, story)


def test_quit_never_asks() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("q")
        assert not reader.app.is_running

    read(forum(), story)


def test_ctrl_c_says_how_to_quit() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("ctrl+c")
        assert reader.sees("q quits")

    read(forum(), story)


def test_an_empty_trace_opens_nothing_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    trace = forum()
    show(Trace(trace.header, []))
    assert capsys.readouterr().out == "forum.py: nothing was recorded, so there are no steps to show\n"


def test_resizing_rearranges() -> None:
    async def story(reader: Reader) -> None:
        node = step(forum(), ev.NodeCreated)
        await reader.press("colon", *str(node), "enter")
        await reader.pilot.resize_terminal(80, 24)
        await reader.pilot.pause()
        assert reader.sees("6 Backward graph", f"▶ {node}")
        assert "2 Key set" not in reader.text
        await reader.pilot.resize_terminal(200, 60)
        await reader.pilot.pause()
        assert reader.sees("2 Key set", "3 Table cell", "4 Calls", "5 Source", "6 Backward graph")

    read(forum(), story)


def test_every_theme_paints() -> None:
    async def story(reader: Reader) -> None:
        for theme in reader.app.available_themes:
            reader.app.theme = theme
            await reader.pilot.pause()
            assert reader.sees("1 Steps", "cuda: emulated")

    read(forum(), story)


def test_what_a_choice_means_is_said_where_panes_are_hidden() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("6")
        assert reader.sees("This pane stays; 1: panes follow the step again")
        await reader.press("1")
        assert reader.sees("Panes follow the step")
        await reader.press("z")
        assert reader.sees("z or Esc: all panes again")

    read(forum(), story, (80, 24))


@pytest.mark.long
def test_a_question_gives_the_focus_back() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("2", "colon", "3", "enter")
        assert (reader.at, reader.app.view.focused.number) == (3, KEYS)
        await reader.press("slash", "escape")
        assert reader.app.view.focused.number == KEYS
        assert reader.sees("q quit")

    read(forum(), story)


def test_the_source_gets_its_colours_after_the_first_paint() -> None:
    async def story(reader: Reader) -> None:
        await reader.pilot.pause()
        pane = reader.app.view.panes[SOURCE]
        assert ("import", "code.keyword") in [span for row in pane._wrapped for span in row.spans]

    read(forum(), story)


def test_a_terminal_that_shrinks_below_all_use_and_grows_again() -> None:
    async def story(reader: Reader) -> None:
        for size in [(30, 8), (10, 3), (1, 1), (120, 40)]:
            await reader.pilot.resize_terminal(*size)
            await reader.press("s")
        assert reader.sees("1 Steps", f"4/{END}", "6 Backward graph")

    read(forum(), story)


def test_a_long_program_shows_the_part_around_the_line_that_runs() -> None:
    trace = forum()
    text = "".join(f"line_{number} = {number}\n" for number in range(1, 3000))
    header = Header(cuda="CuPy", program="long.py", sources={"forum.py": text})

    async def story(reader: Reader) -> None:
        rows = reader.app.view.panes[SOURCE].plain
        assert len(rows) < 250
        assert any("▶" in row and "line_6 = 6" in row for row in rows)

    read(Trace(header, trace.events), story, step=line(trace, 6))

"""Tests of panes as a reader uses them: focus, zoom, pages, signs of changes, help and palette."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.testing import redispatch
from dispatchviz.views.keymap import KEYMAP
from dispatchviz.views.layout.pane_layout import CALLS, GRAPH, KEYS, SOURCE, STEPS, TENSORS
from tests.steps import last_step, line, step

from .screens import stepper
from .synthetic import forum

END = last_step(forum())


async def test_hidden_panes_follow_the_step_until_one_is_chosen() -> None:
    trace = forum()
    computed = step(trace, ev.KeySetComputed)
    async with stepper(trace, (80, 24), line(trace, 3)) as reader:

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


async def test_enter_zooms_and_escape_returns() -> None:
    async with stepper(forum()) as reader:
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


async def test_tab_goes_through_the_panes_and_paging_scrolls_them() -> None:
    async with stepper(forum()) as reader:
        assert reader.app.view.focused.number == STEPS
        await reader.press("pagedown")
        assert reader.at > 5
        await reader.press("pageup")
        assert reader.at == 0
        await reader.press("tab")
        assert reader.app.view.focused.number == TENSORS
        computed = step(forum(), ev.KeySetComputed)
        await reader.press("colon", *str(computed), "enter", "2", "pagedown")
        assert (reader.at, reader.app.view.panes[KEYS].port.top > 0) == (computed, True)


async def test_changed_rows_have_a_sign() -> None:
    trace = forum()
    call = step(trace, ev.Dispatched)
    async with stepper(trace) as reader:
        await reader.press("3")
        before = reader.app.view.panes[KEYS].plain
        for _ in range(call):
            await reader.move("into")
        after = reader.app.view.panes[KEYS].plain
        assert not any(row.startswith(("+", "~")) for row in before)
        assert any(row.startswith("  AutogradCUDA") for row in after)  # all rows are new, so none has a sign
        await reader.press("s")
        assert not any(row.startswith(("+", "~")) for row in reader.app.view.panes[KEYS].plain)
        await reader.press("colon", *str(step(trace, redispatch())), "enter")
        changed = "\n".join(reader.app.view.panes[3].plain)
        assert "~ key     CUDA" in changed
        assert "CUDA (was AutogradCUDA)  entry 2 of 137" in changed
        await reader.press("colon", *str(line(trace, 4)), "enter", "s")
        assert [row[0] for row in reader.app.view.panes[CALLS].plain] == [" "]


async def test_key_cycles_through_the_forms_of_the_call_stack() -> None:
    trace = forum()
    kernel = step(trace, ev.KernelEntered)
    async with stepper(trace, (120, 40), kernel) as reader:

        def shown() -> list[str]:
            return [row for row in reader.app.view.panes[CALLS].plain if row.strip()]

        await reader.press("4", "z")
        short = shown()
        await reader.press("A")
        folded = shown()
        assert reader.sees("4 Calls  complete stack, folded by role", " frames, TypedOperatorHandle::call to ")
        await reader.press("A")
        assert reader.sees("4 Calls  complete stack", "c10::KernelFunction::call")
        assert len(short) < len(folded) < len(shown())
        await reader.press("s", "S")
        assert reader.sees("c10::KernelFunction::call")
        await reader.press("A")
        assert shown() == short


async def test_a_key_unfolds_the_engine_and_folds_it_again() -> None:
    trace = forum()
    node = step(trace, ev.NodeStarted)
    async with stepper(trace, (120, 40), node) as reader:
        await reader.press("9", "z")
        assert reader.sees("▸ Graph task")
        await reader.press("E")
        assert reader.sees("9 Engine  unfolded", "▾ Graph task", "keep_graph_  false")
        await reader.press("s", "S", "E")
        assert reader.sees("▸ Graph task")


async def test_help_lists_every_key_and_describes_the_pane() -> None:
    async with stepper(forum()) as reader:
        await reader.press("2", "question_mark")
        assert reader.sees("How the call at this step gets its dispatch key", "Shift takes the same step backwards")
        seen = reader.text
        for _ in range(12):
            await reader.press("pagedown")
            seen += reader.text
        assert all(entry.help in seen for entry in KEYMAP)
        last = reader.text
        await reader.press("home")
        assert reader.sees("How the call at this step gets its dispatch key")
        await reader.press("end")
        assert reader.text == last
        await reader.press("q")
        assert reader.sees("1 Steps")
        await reader.press("f1", "escape")
        assert reader.sees("1 Steps")


async def test_note_explains_hidden_panes_and_question_returns_the_focus() -> None:
    async with stepper(forum(), (80, 24)) as reader:
        await reader.press("6")
        assert reader.sees("This pane stays open. 1 lets the panes follow the step again")
        await reader.press("1")
        assert reader.sees("The panes follow the step")
        await reader.press("z")
        assert reader.sees("z or Esc shows all panes again")
        await reader.press("escape", "2", "colon", "3", "enter")
        assert (reader.at, reader.app.view.focused.number) == (3, KEYS)
        await reader.press("slash", "escape")
        assert reader.app.view.focused.number == KEYS
        assert reader.sees("q quit")


async def test_the_source_gets_its_colors_after_the_first_paint() -> None:
    async with stepper(forum()) as reader:
        await reader.pilot.pause()
        pane = reader.app.view.panes[SOURCE]
        assert ("import", "code.keyword") in [span for row in pane.shown.lines for span in row.spans]


async def test_a_long_program_shows_the_part_around_the_line_that_runs() -> None:
    trace = forum()
    text = "".join(f"line_{number} = {number}\n" for number in range(1, 3000))
    header = Header(cuda="CuPy", program="long.py", sources={"forum.py": text})
    async with stepper(Trace(header, trace.events), step=line(trace, 6)) as reader:
        rows = reader.app.view.panes[SOURCE].plain
        assert len(rows) < 250
        assert any("▶" in row and "line_6 = 6" in row for row in rows)

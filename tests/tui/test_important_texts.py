"""Tests that important texts are complete: the sentence of a step, the message of an error, why nothing happened."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.tui.commands import sharing
from dispatchviz.tui.widgets.prompt import Prompt
from dispatchviz.views.layout.pane_layout import why_height
from dispatchviz.views.screen_bars import first_notes
from dispatchviz.views.session import Session
from tests.steps import last_step, step, steps

from .programs import cat, example, the_call
from .screens import SIZES, Reader, stepper
from .synthetic import forum, raising

pytestmark = pytest.mark.long

MESSAGE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [3]], which is output 0 of Add, is at version 1; expected version 0 instead. Hint: enable "
    "anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def words(text: str) -> str:
    return " ".join(text.split())


def why(reader: Reader) -> str:
    return words(" ".join(reader.app.view.query_one("#why").plain))


def rows_of_why(reader: Reader) -> list[str]:
    """The visible rows of the bar."""
    bar = reader.app.view.query_one("#why").region
    return reader.screen[bar.y : bar.bottom]


@pytest.mark.parametrize("size", SIZES)
async def test_error_screen_shows_cause_message_and_fixes(size: tuple[int, int]) -> None:
    trace = example("inplace_error.py")
    async with stepper(trace, size) as reader:
        shown = words(" ".join(rows_of_why(reader)))
        cause, _, *fixes = map(words, why_here(trace, len(trace) - 1).split("\n"))
        assert [part for part in (cause, *fixes) if part not in shown] == []
        assert (MESSAGE[:40] if size == (80, 24) else MESSAGE) in shown  # one row must be enough there
        assert reader.sees("▶ ", "z.sum().backward()", "q quit")


@pytest.mark.parametrize("size", SIZES)
async def test_cut_sentence_names_the_key_for_the_full_text(size: tuple[int, int]) -> None:
    trace = cat()
    steps = [the_call(trace, "aten::cat") + more for more in range(-1, 16)]
    async with stepper(trace, size, steps[0]) as reader:
        for at in steps:
            assert reader.at == at
            shown = words(" ".join(rows_of_why(reader)))
            assert words(why_here(trace, at)) in shown or shown.endswith("… w shows all"), reader.text
            assert reader.sees(f"▶ {at:>4}"), reader.text
            await reader.move("into")
            await reader.pilot.pause()


async def test_the_bar_takes_rows_only_while_it_needs_them() -> None:
    assert [why_height(24, needed) for needed in (1, 4, 6, 40)] == [4, 4, 6, 12]
    trace = cat()
    async with stepper(trace, (80, 24)) as reader:
        heights = []
        for at in (1, step(trace, ev.EdgesCollected), 1):
            await reader.press("colon", *str(at), "enter", "s", "S")
            heights.append(reader.app.view.query_one("#why").region.height)
            assert all(row.strip() for row in rows_of_why(reader)[:1])
        assert heights == [4, 12, 4]


async def test_key_w_shows_the_full_text() -> None:
    trace = cat()
    at = step(trace, ev.EdgesCollected)
    async with stepper(trace, (80, 24), at) as reader:
        await reader.press("w")
        seen = ""
        for _ in range(4):
            seen += reader.text
            await reader.press("pagedown")
        assert "Step" in seen
        assert words(why_here(trace, at))[-60:] in words(seen.replace("│", " ").replace("┃", " "))
        assert "function  torch::autograd::collect_next_edges" in seen
        await reader.press("w")
        assert reader.sees("1 Steps")


async def test_interrupted_program_shows_no_error() -> None:
    *before, last = raising().events
    end = ev.ProgramRaised(last.seq, None, "KeyboardInterrupt", "", last.file, last.line)
    async with stepper(Trace(raising().header, [*before, end]), (80, 24)) as reader:
        assert reader.sees("The program was interrupted here: S back  g start  ? keys")
        assert not reader.sees("with an error")


def test_start_of_a_failing_program_shows_no_error_yet() -> None:
    assert "stopped here" in first_notes(raising(), len(raising()) - 1)[0].plain
    assert not any("stopped" in note.plain for note in first_notes(raising(), 0))


async def test_continue_past_the_last_stop_reports_the_end() -> None:
    end = last_step(forum())
    async with stepper(forum()) as reader:
        await reader.press("G", "C", "c")
        assert reader.at == end
        assert reader.sees("No more line, mark or error after that. This is the last step")
        nodes = steps(forum(), ev.NodeCreated)
        await reader.press("g", "b", *"nodecreated", "enter", *["c"] * len(nodes))
        assert reader.at == nodes[-1]
        assert reader.sees("c next stop")
        await reader.press("c")
        assert reader.at == end
        assert reader.sees("No more breakpoint, mark or error after that. This is the last step")
        await reader.press("C", *["C"] * len(nodes))
        assert reader.at == 0
        assert reader.sees("No more breakpoint, mark or error before that. This is the first step")


async def test_question_has_a_label_and_its_whole_hint() -> None:
    async with stepper(raising(), (80, 24)) as reader:
        for key, asks in [("colon", "Step: "), ("slash", "Search: "), ("b", "Stop at: "), ("m", "Name: ")]:
            await reader.press(key)
            hint = reader.app.view.query_one(Prompt).placeholder
            assert reader.screen[-1].rstrip() == f" {asks}{hint}"
            await reader.press(*"abc")
            assert reader.screen[-1].rstrip() == f" {asks}abc"
            await reader.press("escape")
        await reader.press("o")
        assert reader.sees("No backward graph: this program records no Node")
        await reader.press("b", *"add_", "enter", "b")
        assert reader.sees("c stops at operator aten::add_", "Stop at: ")


async def test_long_path_is_cut_at_its_start() -> None:
    path = "/home/somebody/projects/with/a/very/long/path/to/the/experiments/of/this/week/training_loop.py"
    async with stepper(Trace(Header(cuda="CuPy", program=path), forum().events), (80, 24)) as reader:
        assert reader.screen[0].startswith(" …/")
        assert f"/this/week/training_loop.py  step 0 of {len(forum())}  depth 0  forward" in reader.screen[0]


async def test_small_terminal_shows_needed_size() -> None:
    async with stepper(forum()) as reader:
        for size in ((59, 20), (30, 10), (60, 15)):
            await reader.pilot.resize_terminal(*size)
            await reader.pilot.pause()
            said = f"The terminal is {size[0]}x{size[1]}. dispatchviz needs at least 60x15"
            assert words(reader.text) == said if size != (60, 15) else reader.sees("1 Steps", "5 Source", "q quit")


@pytest.mark.parametrize(
    ("file", "again", "link"),
    [
        ("", None, "dispatchviz run --step 5 forum.py"),
        ("", ["a b.py", "--lr", "0.1", "it's"], """dispatchviz run --step 5 'a b.py' --lr 0.1 'it'"'"'s'"""),
        ("", [], ""),
        ("a b.jsonl", ["forum.py"], "dispatchviz open --step 5 'a b.jsonl'"),
    ],
)
def test_copied_command_runs_the_same_program(file: str, again: list[str] | None, link: str) -> None:
    assert sharing.link(Session(forum(), 5, file, again)) == link

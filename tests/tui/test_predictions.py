"""Tests of predict mode: where a move stops, the hidden outcomes, the effect of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.outline.levels import ALL
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.predictions import trace_predictions
from dispatchviz.explain.predictions.prediction import Kind, Prediction
from dispatchviz.explain.predictions.trace_predictions import prediction_at, predictions_after
from dispatchviz.testing import call
from dispatchviz.tui.commands.moves import jump, move
from dispatchviz.tui.commands.predicting import answered, forgotten, guess_note, masked, started
from dispatchviz.tui.screens.guesses_screen import GuessesScreen
from dispatchviz.tui.screens.prediction_screen import PredictionScreen, PredictionView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import CELL, ENGINE, GRAPH, KEYS, SMALLEST, TABLE
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.panes import graph_pane
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.step_rows import step_row
from dispatchviz.views.predictions.asking import FAR, NEAR
from dispatchviz.views.predictions.question_rows import question_rows, verdict
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, hidden, without_hidden, without_step
from dispatchviz.views.screen_bars import needed_rows
from dispatchviz.views.session import Session, Update
from tests.explain.programs import traced
from tests.steps import line, step

from .screens import SIZES, Reader, stepper_of

FORUM = """\
    import torch
    x = torch.randn(2, 2, device="cuda")
    y = torch.randn(2, device="cuda")
    x.requires_grad_(True)
    z = torch.add(x, y)
    z.sum().backward()
    """

BRANCHES = """\
    import torch
    a = torch.ones(2, requires_grad=True)
    c = a * 2.0
    d = c.exp() + c.sin()
    d.sum().backward()
    d2 = (a * a).sum()
    d2.backward()
    """


def asking(source: str, file: str = "") -> Session:
    """A session in predict mode."""
    session = Session(traced(source), 0, file)
    session.cursor = masked(session, started(session).cursor)
    return session


def shown(session: Session, update: Update) -> Update:
    """Apply an update as the application does."""
    session.cursor = masked(session, update.cursor)
    return update


def played(session: Session, how: str, right: bool = True) -> Iterator[Prediction]:
    """Yield each question that a reader meets who goes on to the end and answers all of them right, or all wrong."""
    while True:
        before = session.cursor.at
        update = shown(session, move(session, how))
        if update.asks is not None:
            yield update.asks
            choices = [each for each in update.asks.choices if (each == update.asks.right) is right]
            shown(session, answered(session, update.asks, choices[0]))
        elif session.cursor.at == before:
            return


@pytest.mark.parametrize("how", ["into", "over", "down", "resume", "unfold"])
def test_every_move_stops_before_the_answer(how: str) -> None:
    session = asking(FORUM)
    for asked in played(session, how):
        assert session.cursor.at == asked.reveals - 1
        assert session.cursor.ahead == asked
    assert session.asking.guesses.score(session.trace).split()[0] == str(len(session.asking.guesses))


def test_line_by_line_moves_meet_questions_on_keys_and_engine() -> None:
    asked = list(played(asking(FORUM), "resume"))
    assert all(each.is_outer for each in asked)
    add = next(each for each in asked if each.question == "aten::add.Tensor is called. Which key wins?")
    assert add.right.text == "AutogradCUDA"
    assert {each.kind for each in asked} >= {Kind.KEY, Kind.CELL, Kind.NODE, Kind.COUNT, Kind.NEXT, Kind.GRADIENT}
    assert len({each.topic for each in asked}) == len(asked), "what is understood is not asked again"


def test_wrong_answer_is_asked_again_elsewhere() -> None:
    source = "import torch\nx = torch.ones(2)\ny = x * 2.0\ny = x * 2.0\n"
    again = [each for each in played(asking(source), "resume", right=False) if "mul.Tensor is called" in each.question]
    once = [each for each in played(asking(source), "resume") if "mul.Tensor is called" in each.question]
    assert (len(again), len(once)) == (2, 1)


def test_no_row_reveals_the_answer() -> None:
    session = asking(FORUM)
    for asked in played(session, "into"):
        rows = [(session.cursor.row_at(at), step_row(session.cursor, at, 100).plain) for at in
                range(len(session.cursor.rows))]  # fmt: skip
        tree = session.cursor.tree
        for row, text in rows:
            if row.item >= 0 and tree.begin(row.item) >= asked.reveals:
                assert text.strip(" ▶") == "?", text
            elif tree.end(row.item) >= asked.reveals:
                assert text.endswith("?   "), text
        later = [text for row, text in rows if row.item < 0 and tree.begin(row.item) > asked.reveals]
        assert all(text.rstrip().endswith(" ?") for text in later)


def test_hidden_row_begins_where_its_neighbors_begin() -> None:
    session, compared = asking(FORUM), 0
    for _ in played(session, "resume"):
        texts = [step_row(session.cursor, at, 100).plain.translate(NO_SIGNS) for at in range(len(session.cursor.rows))]
        rows = [(session.cursor.row_at(at), text) for at, text in enumerate(texts)]
        begins = {row.depth: len(text) - len(text.lstrip()) for row, text in rows if row.item >= 0 and "?" not in text}
        hidden = [(row.depth, text.index("?")) for row, text in rows if text.strip() == "?" and row.depth in begins]
        assert all(begin == begins[depth] for depth, begin in hidden)
        compared += len(hidden)
    assert compared


NO_SIGNS = str.maketrans("▶▾▸", "   ")


def test_filtered_list_hides_answers() -> None:
    session = asking(FORUM)
    ahead = session.cursor.ahead
    cursor = session.cursor.filtered([0, ahead.reveals, ahead.reveals + 2], "kernel")
    assert [step_row(cursor, at, 80).plain.split()[-1] for at in (1, 2)] == ["?", "?"]


def test_first_screen_does_not_reveal_the_first_node() -> None:
    session = Session(traced(FORUM))
    plain = Scene(session.cursor, opened_at=session.cursor.at).plan(120, 40)
    assert any("AddBackward0" in row.plain for row in plain.bars["why"])
    asks = masked(session, started(session).cursor)
    plan = Scene(asks, opened_at=asks.at).plan(120, 40)
    assert not any("AddBackward0" in row.plain for row in plan.bars["why"])
    assert any("predict" in row.plain for row in plan.bars["header"])


def test_panes_that_look_ahead_wait_for_the_answer() -> None:
    trace = traced(FORUM)
    add = step(trace, call("aten::add.Tensor", "AutogradCUDA"))
    cell = next(each for each in predictions_after(trace, add) if each.kind is Kind.CELL)
    before = Cursor(trace, add).asked_ahead(cell, "predict")
    assert [hidden(pane, before) for pane in (CELL, TABLE, KEYS)] == [ASKED_FIRST, ASKED_FIRST, None]
    assert hidden(CELL, Cursor(trace, add)) is None
    behind = Cursor(trace, cell.reveals).asked_ahead(next(predictions_after(trace, cell.reveals)), "predict")
    assert hidden(CELL, behind) is None


def test_titles_and_rows_do_not_reveal_later_steps() -> None:
    trace = traced(FORUM)
    at = line(trace, 4)
    said = nothing(GRAPH, trace, at)
    assert said.goto == step(trace, ev.NodeCreated)
    plain, waiting = Cursor(trace, at), Cursor(trace, at).asked_ahead(next(predictions_after(trace, at)), "predict")
    rows = graph_pane.rows(trace, at, 80)
    assert (without_step(said, plain), without_hidden(rows, plain)) == (said, rows)
    assert without_step(said, waiting).plain == "none yet"
    assert without_hidden(rows, waiting) == [ASKED_FIRST]


def test_queue_does_not_reveal_the_next_node() -> None:
    trace = traced(BRANCHES)
    asked = next(each for each in predictions_after(trace, 0) if each.kind is Kind.NEXT and "Sin" in each.right.text)
    queued = max(at for at in range(asked.reveals) if isinstance(trace[at], ev.NodeQueued))
    cursor = Cursor(trace, queued)
    sentence = "\n".join(row.plain for row in needed_rows(cursor, [], 100))
    assert "Next in this queue are SinBackward0" in " ".join(sentence.split())
    waiting = cursor.asked_ahead(asked, "predict")
    assert hidden(ENGINE, waiting) == ASKED_FIRST
    assert [row.plain.strip() for row in needed_rows(waiting, [], 100)] == [ASKED_FIRST.plain.strip()]


def test_answer_goes_to_the_step_and_shows_guess_and_answer() -> None:
    session = asking(FORUM)
    asked = next(each for each in played(session, "resume") if "aten::add.Tensor is called" in each.question)
    cuda = asked.chosen("CUDA")
    assert cuda is not None
    update = shown(session, answered(session, asked, cuda))
    assert session.cursor.at == asked.reveals
    assert update.note.plain.startswith(" ✗ Your guess: CUDA. x and y are CUDA tensors. It is in the key set, but")
    assert " The answer: AutogradCUDA. " in update.note.plain
    shown(session, move(session, "into"))
    assert guess_note(session, session.cursor.at) is None
    shown(session, move(session, "into_back"))
    assert guess_note(session, session.cursor.at) == update.note, "it stays"


def test_verdict_does_not_repeat_the_sentence() -> None:
    session = asking(FORUM)
    for asked in played(session, "resume"):
        for choice in asked.choices:
            note = verdict(session.trace, asked, choice).plain
            assert asked.right.text in note
            assert (asked.right.why in note) != (asked.right.why in why_here(session.trace, asked.reveals)), note
            assert choice.text in note
            assert ("Your guess" in note) == (choice != asked.right)


def test_a_skipped_question_shows_its_answer_and_is_no_guess() -> None:
    session = asking(FORUM)
    asked = next(played(session, "resume"))
    update = answered(session, asked, None)
    assert update.note.plain.startswith(f" The answer: {asked.right.text}. ")
    assert update.cursor.at == asked.reveals
    assert len(session.asking.guesses) == 0
    assert asked not in list(played(session, "resume"))


def test_jumps_are_not_stopped_by_questions() -> None:
    session = asking(FORUM)
    update = shown(session, jump(session, "last"))
    assert update.asks is None
    assert session.cursor.at > step(session.trace, ev.GradientAccumulated)
    assert session.cursor.ahead is None
    shown(session, jump(session, "first"))
    assert session.cursor.ahead is not None, "what was jumped over is open"


def test_guesses_are_kept_beside_the_trace(tmp_path: Path) -> None:
    file = str(tmp_path / "t.dvtrace")
    session = asking(FORUM, file)
    asked = next(played(session, "resume"))
    wrong = next(each for each in asked.choices if each != asked.right)
    answered(session, asked, wrong)
    kept = json.loads(Path(f"{file}.guesses.json").read_text())
    assert kept == {"guesses": {str(asked.reveals): wrong.text}}
    again = Session(session.trace, 0, file)
    assert "0 of 1 right so far" in (started(again).note or ASKED_FIRST).plain
    assert asked.reveals in again.asking.guesses


@pytest.mark.parametrize("text", ["", "[]", '{"guesses": 3}', '{"guesses": {"x": 1, "5": "CPU"}}',
                                  '{"guesses": {"99999999": "CPU", "-1": "CPU", "0": "no such choice"}}'])  # fmt: skip
def test_foreign_file_is_not_read_as_guesses(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.dvtrace.guesses.json").write_text(text)
    session = Session(traced("import torch\nx = torch.ones(2)\n"), 0, str(tmp_path / "t.dvtrace"))
    started(session)
    assert len(session.asking.guesses) == 0


def test_guesses_of_another_run_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.dvtrace.guesses.json"
    path.write_text('{"guesses": {"0": "no such choice", "99999999": "CPU"}}')
    session = asking("import torch\nx = torch.ones(2)\n", str(tmp_path / "t.dvtrace"))
    asked = next(played(session, "resume"))
    answered(session, asked, asked.right)
    before = {"0": "no such choice", "99999999": "CPU"}
    assert json.loads(path.read_text())["guesses"] == {str(asked.reveals): asked.right.text} | before
    forgotten(session)
    assert json.loads(path.read_text())["guesses"] == before


def test_failed_write_of_guesses_is_reported(tmp_path: Path) -> None:
    session = asking("import torch\nx = torch.ones(2)\n", str(tmp_path / "none" / "t.dvtrace"))
    asked = next(played(session, "resume"))
    note = answered(session, asked, asked.right).note
    assert "cannot write" in note.plain


@pytest.mark.long
def test_next_question_is_searched_nearby() -> None:
    """Only a few steps of a loop are read if all its topics are done, no matter how long it is."""
    trace = traced("import torch\nx = torch.ones(2)\nfor i in range(300):\n    x = x * 2.0\n")
    session, begin = Session(trace, 0, level=ALL), line(trace, 4)
    shown(session, started(session))
    for _ in played(session, "into"):
        pass
    with patch.object(trace_predictions, "prediction_at", side_effect=prediction_at) as looked:
        assert session.asking.ahead(session.trace, begin) is None
        assert NEAR < looked.call_count <= NEAR + FAR
        assert session.asking.ahead(session.trace, begin + 1) is None
        assert looked.call_count <= NEAR + FAR, "not again at each step"


# -- the screen --------------------------------------------------------------------------------------------------------


def below(reader: Reader) -> str:
    """The rows under the question."""
    return "\n".join(strip.text for strip in reader.app.view._compositor.render_strips())


def covered(reader: Reader) -> bool:
    """Return whether a screen is over the stepper."""
    return len(reader.app.screen_stack) > 1


@pytest.mark.parametrize("size", [*SIZES, SMALLEST])
def test_a_question_has_room_below_the_steps(size: tuple[int, int]) -> None:
    trace = traced(FORUM)
    for asked in predictions_after(trace, 0):
        cursor = Cursor(trace, asked.asked, outline=Outline(trace, 1)).asked_ahead(asked, "predict")
        plan = Scene(cursor, opened_at=0, asks=asked).plan(*size)
        boxes = {name: box for name, box in plan.boxes.items() if name != "prompt"}
        assert set(boxes) == {"header", "why", "pane1", "footer"}
        assert sum(box.height for box in boxes.values()) == size[1]
        assert all(box.width == size[0] for box in boxes.values())
        assert boxes["pane1"].height >= 5
        if size != SMALLEST:
            assert boxes["footer"].height >= len(question_rows(asked, size[0] - 3)) + 1, "all of it is in sight"


async def test_prediction_game_on_the_screen_counts_guesses() -> None:
    async with stepper_of(Session(traced(FORUM), 2)) as reader:
        await reader.press("p")
        assert reader.sees("Predict mode: outcomes stay hidden (?) until you guess")
        await reader.press("c")
        assert isinstance(reader.app.screen, PredictionScreen)
        assert reader.sees("aten::randn is called. Which key wins?", "1  AutogradCPU", "3  BackendSelect")
        assert "randn → BackendSelect" not in below(reader)
        await reader.press("3", "enter")
        assert not covered(reader)
        assert reader.sees("✓ Right: BackendSelect.", "predict: 1 of 1 right", "→ randn → BackendSelect")
        await reader.press("c", "down", "enter")
        assert reader.sees("✗ Your guess: the fallback of BackendSelect", "1 of 2 right")
        await reader.press("c", "escape")
        assert reader.sees("The answer: CUDA. ", "1 of 2 right, 1 skipped")
        await reader.press("c", "c")
        assert not covered(reader)
        assert reader.sees("1 of 2 right, 2 skipped"), "going on at a question skips it"
        await reader.press("p")
        assert type(reader.app.screen_stack[-1]) is GuessesScreen
        assert reader.sees(
            "1 of 2 right, 2 skipped (Enter goes there",
            "✗ the fallback of BackendSelect, one for all operators · answer: the kernel",
        )
        await reader.press("escape")
        assert reader.sees("Predict mode ended: 1 of 2 right, 2 skipped")
        assert not reader.sees("predict:")
        await reader.press("c")
        assert not covered(reader)


async def test_list_of_guesses_goes_to_steps_and_deletes() -> None:
    async with stepper_of(Session(traced(FORUM), 2)) as reader:
        await reader.press("p", "c", "1", "c", "1", "p", "down", "enter")
        assert isinstance(reader.app.session.trace[reader.at], ev.KernelSelected)
        assert reader.sees("✓ Right: the kernel registered for BackendSelect itself.")
        await reader.press("p", "p", "delete")
        assert reader.sees("All guesses deleted")
        assert len(reader.app.session.asking.guesses) == 0
        await reader.press("g", "p", "c", "c")
        assert isinstance(reader.app.screen, PredictionScreen), "asked from anew"


async def test_question_survives_resize_and_can_be_ended() -> None:
    async with stepper_of(Session(traced(FORUM), 2)) as reader:
        await reader.press("p", "c")
        await reader.pilot.resize_terminal(80, 24)
        await reader.pilot.pause()
        screen = reader.app.screen
        assert isinstance(screen, PredictionScreen)
        view = screen.query_one(PredictionView)
        assert view.region.bottom == 24
        assert view.region.y == reader.app.view.scene.plan(80, 24).boxes["footer"].y
        assert reader.sees("Which key wins?", "4  CPU")
        await reader.press("9", "7", "x")
        assert covered(reader), "no such choice"
        await reader.press("p")
        assert not covered(reader)
        assert reader.sees("Predict mode ended")
        assert reader.app.session.cursor.ahead is None


def test_program_without_questions_says_so() -> None:
    trace: Trace = traced("x = 3\ny = 4\n")
    session = Session(trace)
    note = started(session).note
    assert note.plain.startswith(" No more questions after this step")

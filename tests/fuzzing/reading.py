"""Everything that a reader can do with a file: open it, read the log, look at steps, search, draw, run commands."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from dispatchviz.cli import main
from dispatchviz.cli.input_source import load
from dispatchviz.core.record.trace_file import Trace, TraceError
from dispatchviz.explain.codegen.operator_at_step import operator_at
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.tensor_questions import questions
from dispatchviz.explain.things.uses import uses
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.outputs.picture.dot import drawing
from dispatchviz.outputs.picture.graph_picture import backward_graph
from dispatchviz.outputs.picture.svg import RenderError, svg
from dispatchviz.tui.commands.going import cross
from dispatchviz.tui.commands.moves import detail, move
from dispatchviz.tui.commands.predicting import answered, masked, started
from dispatchviz.tui.commands.sharing import no_graph
from dispatchviz.tui.questions.typed_questions import BreakpointQuestion, FilterQuestion, SearchQuestion
from dispatchviz.tui.screens.step_text_screen import step_text
from dispatchviz.views.details.thing_rows import question_rows
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.step_rows import step_row
from dispatchviz.views.session import Session

MOVES = (
    "unfold", "fold", "down", "up", "into", "over", "out", "out_back", "over_back", "resume", "resume_back", "caller",
    "callee", "last", "first",
)  # fmt: skip
QUERIES = (
    "add", "t1", "n2", "SourceLine", "x", "backward", "\0", "autograd cpu", "key:CPU", "node:Add tensor:t1", "tensor:x",
    "line:1", "file:script", "file:.cpp", "says:the", 'event:NodeCreated "a b"', "op:add nobody",
)  # fmt: skip
STOPS = (
    "add", "12", "NodeCreated", "CPU", "?", "line 1", "variable x", "node AddBackward0", "torch.add", "if depth > 1",
    "Dispatched if operator == aten::add.Tensor ignore 1", "if line == 1 and name != x",
)  # fmt: skip
LONGEST_COMPLAINT = 600
MOST_LINES = 3000
"""The maximum number of lines that are read of a log; more would take a second."""


class Complaint(Exception):
    """A file was refused in more than one line, or a command ended with an unexpected status."""


def read(path: Path, random: Random, output: Path) -> str:
    """Read a file with random steps and a random command; return how the file opened.

    ``output`` is a folder for the files of commands.
    """
    with quiet():
        try:
            trace = load(str(path))
        except TraceError as error:
            _check_line(str(error))
            trace = None
        if trace is None or random.random() < 0.25:
            _command(path, random, output, opens=trace is not None)
        if trace is None:
            return "refused"
        if trace.notice:
            _check_line(trace.notice)
        if len(trace):
            _look(trace, random)
    return "with a notice" if trace.notice else "whole"


def _check_line(text: str) -> None:
    if not text.strip() or "\n" in text.strip() or len(text) > LONGEST_COMPLAINT:
        raise Complaint(f"not one line: {text[:1000]!r}")


@contextlib.contextmanager
def quiet() -> Iterator[io.TextIOWrapper]:
    """Capture standard output and errors, with the encoding of a terminal."""
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield errors


def _look(trace: Trace, random: Random) -> None:
    """Do some of a reader's actions, the costly ones less often."""
    if random.random() < 0.5:
        for _ in islice(text_log(trace), MOST_LINES):
            pass
    if random.random() < 0.2:
        for _ in islice(torch_log(trace), MOST_LINES):
            pass
    session = Session(trace)
    for at in {random.randrange(len(trace)), random.choice((0, len(trace) - 1))}:
        _look_at(session, at, random)
    if random.random() < 0.2:
        _ask(session, random)
    if random.random() < 0.4:
        at, of = random.choice(((None, None), (None, "all"), (random.randrange(len(trace)), None)))
        drawn = drawing(backward_graph(trace, at, of))
        if random.random() < 0.005 and drawn.boxes < 100:
            with contextlib.suppress(RenderError):
                svg(drawn)


def _look_at(session: Session, at: int, random: Random) -> None:
    """Draw the stepper's screen at a step, and follow the keys from there."""
    trace, width = session.trace, random.choice((38, 60, 118))
    session.cursor = session.cursor.goto(at)
    Scene(session.cursor, 0).plan(*random.choice(((60, 16), (80, 24), (120, 40), (220, 70))))
    for _, module in PANES.values():
        rows_of(module)(trace, at, width)
    if random.random() < 0.3:
        session.cursor = detail(session, random.choice((-1, 1, 2))).cursor
    here = session.cursor.row_number
    for row in range(max(0, here - 5), min(len(session.cursor.rows), here + 5)):
        step_row(session.cursor, row, width)
    step_text(trace, at)
    operator_at(trace, at)
    no_graph(trace, at)
    if random.random() < 0.3:
        _predict(session, random)
    if random.random() < 0.3:
        _ask_things(session, at, random)
    session.cursor = move(session, random.choice(MOVES)).cursor


def _predict(session: Session, random: Random) -> None:
    """Ask for questions before answers, and give an answer."""
    session.cursor = masked(session, started(session).cursor)
    Scene(session.cursor, 0).plan(80, 24)
    asks = move(session, random.choice(MOVES)).asks or session.cursor.ahead
    if asks is not None:
        Scene(session.cursor, 0, asks=asks).plan(80, 24)
        session.cursor = masked(session, answered(session, asks, random.choice((None, *asks.choices))).cursor)
    session.asking.on = False


def _ask_things(session: Session, at: int, random: Random) -> None:
    """Ask about the tensors and Nodes of a step in the rows of the list, and follow their links."""
    trace = session.trace
    cross(session)
    uses(trace).go_on()
    for thing in things_of(trace, at)[:2]:
        question_rows(trace, questions(trace, thing, at), random.choice((1, 40, 120)))


def _ask(session: Session, random: Random) -> None:
    """Ask the questions of the bottom line."""
    query = random.choice(QUERIES)
    SearchQuestion(session).typed(query)
    session.cursor = FilterQuestion(session).answered(query).cursor
    session.cursor = BreakpointQuestion(session).answered(random.choice(STOPS)).cursor
    session.cursor = move(session, random.choice(MOVES)).cursor


def _command(path: Path, random: Random, output: Path, opens: bool) -> None:
    """Run a command on the file."""
    made = output / f"made{random.choice(('.dot', '.jsonl', '.jsonl.gz'))}"
    arguments = random.choice(
        (
            ["open", "--plain"],
            ["open"],
            ["open", "--plain", "--step", str(random.randrange(30))],
            ["run", "--plain"],
            ["trace"],
            ["trace", "--format", "torch"],
            ["trace", "--format", "jsonl"],
            ["export", "-o", str(made)],
            ["trace", "--save", str(output / "made.jsonl")],
        )
    )
    with quiet() as errors:
        status = main([*arguments, str(path)])
        sys.stdout.flush()
        errors.flush()
        assert isinstance(errors.buffer, io.BytesIO)
        errors_printed = errors.buffer.getvalue().decode().splitlines()
    for line in errors_printed:
        _check_line(line)
    most = 1 + (status == 2 or arguments == ["open"])  # the reason that there is no stepper
    if status not in (0, 2) or len(errors_printed) > most or (status == 0 and not opens):
        raise Complaint(f"status {status} of {arguments}, which opens: {opens}; it says {errors_printed}")

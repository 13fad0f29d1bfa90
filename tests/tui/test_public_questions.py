"""Tests of the questions in ``docs/questions.md``: their keys are pressed, and the answers must be on the screen."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from dispatchviz.views.keymap import SHOWN
from dispatchviz.views.session import Session
from tests.cli.command import dispatchviz
from tests.explain.programs import traced

from .screens import Reader, stepper_of

ROOT = Path(__file__).parents[2]
MOST_KEYS = 5
NAMES = {shown: key for key, shown in SHOWN.items()} | {"⏎": "enter"}


class Question(NamedTuple):
    """A question, its program and its keys, or a command, and the words of the answer."""

    title: str
    program: str
    keys: tuple[str, ...]
    command: str
    answers: tuple[str, ...]


def questions() -> list[Question]:
    """The questions of the page."""
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8").partition("## By one command")[0]
    return [_question(part) for part in text.split("\n### ")[1:]]


def _question(part: str) -> Question:
    title, _, rest = part.partition("\n")
    code = re.search(r"```python\n(.*?)```", rest, re.DOTALL)
    named = re.search(r"^`(examples/.*\.py)`$", rest, re.MULTILINE)
    program = code[1] if code else (ROOT / named[1]).read_text(encoding="utf-8") if named else ""
    keys = re.search(r"^Keys: (.*)$", rest, re.MULTILINE)
    command = re.search(r"^Command: `dispatchviz (.*)`$", rest, re.MULTILINE)
    assert bool(command) != bool(program and keys), title
    answers = re.split(r"^>\n", "\n".join(re.findall(r"^>.*$", rest, re.MULTILINE)), flags=re.MULTILINE)
    words = tuple(" ".join(answer.replace("\n>", " ").removeprefix(">").split()) for answer in answers)
    pressed = tuple(re.findall(r"`([^`]+)`", keys[1])) if keys else ()
    return Question(title, program, pressed, command[1] if command else "", words)


QUESTIONS = [question for question in questions() if not question.command]
COMMANDS = [question for question in questions() if question.command]


def typed(key: str) -> tuple[str, ...]:
    """The names of the keys. A text is typed letter by letter, as one answer to a question of the stepper."""
    return tuple("space" if letter == " " else letter for letter in key) if len(key) > 1 else (NAMES.get(key, key),)


def shown(reader: Reader) -> str:
    """The texts on the screen, with the rows of each pane and bar joined as they are read."""
    screen = reader.app.view
    rows = [screen.query_one("#why").plain]
    rows += [pane.plain for number, pane in screen.panes.items() if pane.display and number != 1]
    steps = [row[: screen.panes[1].port.width] for row in reader.screen]
    return "\n".join(" ".join(" ".join(part).split()) for part in (*rows, steps, reader.screen))


@pytest.mark.parametrize("question", QUESTIONS, ids=[question.title for question in QUESTIONS])
async def test_keys_show_the_answer(question: Question) -> None:
    assert question.answers
    assert len(question.keys) <= MOST_KEYS
    async with stepper_of(Session(traced(question.program))) as reader:
        for key in question.keys:
            await reader.press(*typed(key))
        text = shown(reader)
        assert [answer for answer in question.answers if answer not in text] == []


@pytest.mark.parametrize("question", COMMANDS, ids=[question.title for question in COMMANDS])
def test_the_command_prints_the_answer(question: Question) -> None:
    text = " ".join(dispatchviz(*shlex.split(question.command)).out.split())
    assert question.answers
    assert [answer for answer in question.answers if answer not in text] == []


def test_every_question_has_its_answer() -> None:
    assert len(COMMANDS) >= 3
    assert all(question.answers for question in questions())

"""The page of the course: all lessons in their order, with their time and a preparation that comes before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.lessons.catalog import misconceptions, shipped_lessons
from dispatchviz.lessons.lesson_file import Lesson, read_lesson

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "course.md").read_text("utf-8")
LESSONS_PART, _, BELIEFS_PART = PAGE.partition("## One misconception each")
_ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (\d+) \| (.*)\|$", re.MULTILINE)
ROWS, BELIEF_ROWS = _ROW.findall(LESSONS_PART), _ROW.findall(BELIEFS_PART)
COURSES = re.findall(r"^\| \w.* \| (`.*`) \| Make of `(\w+)` \|$", PAGE, re.MULTILINE)
LESSONS = {path.stem: read_lesson(path) for path in shipped_lessons()}
BELIEFS = {path.stem: read_lesson(path) for path in misconceptions()}

WORDS, LINES = 130, 30
"""The amount that a learner reads in a minute: words of prose, lines of a program."""

QUESTION, STOP = 0.5, 0.25
"""The minutes for a question, and for looking at a stop."""


def minutes(lesson: Lesson) -> int:
    """Return the time that a learner needs up to Modify."""
    asked = [passage.question for passage in lesson.passages if passage.question is not None]
    texts = [passage.text for passage in lesson.passages]
    texts += [text for each in asked for text in (each.text, each.because, *(choice.text for choice in each.choices))]
    words = sum(len(text.split()) for text in texts)
    lines = sum(bool(line.strip()) for line in lesson.program.split("\n"))
    questions = sum(passage.asks for passage in lesson.stops)
    return round(words / WORDS + lines / LINES + questions * QUESTION + (len(lesson.stops) - questions) * STOP)


def test_page_has_all_lessons_in_their_order() -> None:
    assert [row[:2] for row in ROWS] == [(name, lesson.title) for name, lesson in LESSONS.items()]


@pytest.mark.parametrize("name", LESSONS)
def test_lesson_takes_less_than_ten_minutes(name: str) -> None:
    [stated] = [int(row[2]) for row in ROWS if row[0] == name]
    assert stated == minutes(LESSONS[name]) < 10


def test_page_has_the_minutes_of_all_misconceptions() -> None:
    stated = [(name, title, int(number)) for name, title, number, _ in BELIEF_ROWS]
    assert stated == [(name, belief.title, minutes(belief)) for name, belief in BELIEFS.items()]
    assert {number for _, _, number in stated} == {1, 2}, "the page says one or two"
    assert all(re.fullmatch(r"`(\w+)` ", before)[1] in LESSONS for *_, before in BELIEF_ROWS)  # type: ignore[index]


def test_preparation_comes_before_a_lesson() -> None:
    order = list(LESSONS)
    for name, _, _, after in ROWS:
        needed = re.findall(r"`(\w+)`", after)
        assert bool(needed) == (name != order[0])
        assert all(order.index(each) < order.index(name) for each in needed), name


def test_course_has_four_lessons_in_their_order_and_the_task_of_one() -> None:
    assert len(COURSES) > 1
    for names, task in COURSES:
        lessons = re.findall(r"`(\w+)`", names)
        assert len(lessons) == 4
        assert lessons == sorted(lessons, key=list(LESSONS).index)
        assert task in lessons
        assert sum(minutes(LESSONS[each]) for each in lessons) < 30, "the task takes the rest of the 45 minutes"

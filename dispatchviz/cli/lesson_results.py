"""The answers of many learners as a table with bars: the choices for each question, and the score of each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dispatchviz.foundation.english import counted, shortened
from dispatchviz.lessons.answers import Answer, AnswersError, read_answers
from dispatchviz.views.text.console import Console

SKIPPED = "skipped"
"""Shown for a question without a choice."""

BAR, REST = "█", "░"

WIDEST_BAR = 30
"""The width in columns of a bar that stands for all learners."""

BESIDE = 14
"""The columns of a row besides its text and its bar."""

LEAST_TEXT = 20
"""The least number of columns for a choice or a learner's name on a narrow screen."""

Learners = Sequence[tuple[str, Sequence[Answer]]]
"""Pairs of a learner's name and answers."""


def result_lines(paths: Iterable[Path], console: Console) -> Iterator[str]:
    """Yield the summary. Raise AnswersError, before any line, for a file without answers."""
    learners = [(_plain(name), read_answers(path)) for name, path in _named(paths)]
    answers = [answer for _, each in learners for answer in each]
    yield _headline(learners, answers)
    for lesson in dict.fromkeys(answer.lesson for answer in answers):
        yield ""
        yield console.heading(_plain(lesson))
        for question in _questions(answer for answer in answers if answer.lesson == lesson):
            yield from _question(question, console)
    yield ""
    yield console.heading("Learners")
    yield from _learners(learners, console)


def _named(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return every file with the name of its learner: the file's name, with its folder if two files share a name."""
    files = list({file.resolve(): file for path in paths for file in _files(path)}.values())
    counts = Counter(file.stem for file in files)
    return [(file.stem if counts[file.stem] == 1 else f"{file.parent.name}/{file.stem}", file) for file in files]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise AnswersError(f"there are no answers in {path}: it has no .json file")
    return found


def _headline(learners: Learners, answers: Sequence[Answer]) -> str:
    questions = len(set(map(_identity, answers)))
    right = sum(answer.is_right for answer in answers)
    return (
        f"{counted(len(learners), 'learner')}, {counted(questions, 'question')}, "
        f"{right} of {counted(len(answers), 'answer')} right"
    )


def _identity(answer: Answer) -> tuple[str, ...]:
    """Return the fields that two answers to the same question share; a lesson may have changed between them."""
    return answer.lesson, answer.stop, answer.question, answer.right


def _questions(answers: Iterable[Answer]) -> list[list[Answer]]:
    """Group answers by their question."""
    found: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        found.setdefault(_identity(answer), []).append(answer)
    return list(found.values())


def _question(answers: Sequence[Answer], console: Console) -> Iterator[str]:
    """Yield the question, the right choice, then the wrong ones, the most frequent first."""
    first = answers[0]
    yield ""
    yield from console.wrapped(f"{_plain(first.question)} ({_plain(first.stop)})", 2)
    counts = Counter(answer.choice for answer in answers)
    right = counts.pop(first.right, 0)
    rows = [("✓", first.right, right), *((*_sign(choice), count) for choice, count in counts.most_common())]
    texts = [_text(text, console) for _, text, _ in rows]
    width = max(map(len, texts))
    for (sign, _, count), text in zip(rows, texts, strict=True):
        color = "green" if sign == "✓" else "red" if sign == "✗" else "dim"
        bar = _bar(count, len(answers), _room(console, width))
        yield f"    {console.styled(sign, color)} {text:<{width}}  {console.styled(bar, color)} {count}"


def _sign(choice: str | None) -> tuple[str, str]:
    return ("-", SKIPPED) if choice is None else ("✗", choice)


def _learners(learners: Learners, console: Console) -> Iterator[str]:
    width = max(len(_text(name, console)) for name, _ in learners)
    score = max(len(_score(answers)) for _, answers in learners)
    for name, answers in learners:
        room = min(_room(console, width + score), max(len(answers), 1))
        right = sum(answer.is_right for answer in answers)
        done = _bar(right, max(len(answers), 1), room)
        bar = console.styled(done, "green") + console.styled(REST * (room - len(done)), "dim")
        yield f"  {_text(name, console):<{width}}  {_score(answers):>{score}}  {bar if answers else ''}".rstrip()


def _score(answers: Sequence[Answer]) -> str:
    return f"{sum(answer.is_right for answer in answers)} of {len(answers)}"


def _room(console: Console, beside: int) -> int:
    """Return the columns that are left for a bar."""
    return max(min(WIDEST_BAR, console.width - beside - BESIDE), 5)


def _bar(count: int, total: int, room: int) -> str:
    """Return a bar for a share of all; any count above 0 is visible."""
    return BAR * max(round(room * count / total), count > 0)


def _text(text: str, console: Console) -> str:
    """Return a text, shortened to leave space for a bar."""
    return shortened(_plain(text), max(console.width - WIDEST_BAR - BESIDE, LEAST_TEXT))


def _plain(text: str) -> str:
    """Return a text on one line, because a file may contain anything."""
    return " ".join(text.split())

"""The directives of a lesson's file, and lines that look like one and are none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from dispatchviz.lessons.asked.question_text import ANSWER, ASK, BECAUSE, PARTS

STOP, PREDICT, RAISES, GOAL, HINT = "stop", "predict", "raises", "goal", "hint"
DIRECTIVES = (STOP, PREDICT, RAISES, *PARTS, GOAL, HINT)

MEANT = {
    **dict.fromkeys(("question", "quiz", "choice", "choices", "option", "options"), ASK),
    **dict.fromkeys(("solution", "right", "correct", "expect", "expected", "result", "value"), ANSWER),
    **dict.fromkeys(("why", "reason", "explanation", "since", "note"), BECAUSE),
    **dict.fromkeys(("look", "at", "place", "step", "see"), STOP),
    **dict.fromkeys(("guess", "prediction"), PREDICT),
    **dict.fromkeys(("assert", "check", "must", "require", "test"), GOAL),
    **dict.fromkeys(("help", "tip", "nudge"), HINT),
    **dict.fromkeys(("error", "exception", "throws", "fails"), RAISES),
}
"""Words that a teacher may write, and the directives for them."""

DIRECTIVE = re.compile(rf"({'|'.join(DIRECTIVES)}):\s*(.*\S)\s*")
_LIKE_A_DIRECTIVE = re.compile(r"(\w+)\s*:.*")
HEADING = re.compile(r"(#+)\s+(.*\S)\s*")

Comments = dict[int, str]
"""Comments by line number, without the mark."""


def misspelled(comments: Comments) -> Iterator[tuple[int, str, str]]:
    """Yield each line that looks like a directive and is none: its number, its first word, the directive that was
    probably meant.

    Only a line where a sentence may begin can be meant as a directive. A word in small letters is one there, because a
    sentence begins with a capital letter. A word with a capital letter is one if it is similar to a directive.
    """
    for number, line in comments.items():
        begin = _LIKE_A_DIRECTIVE.fullmatch(line)
        if begin is None or DIRECTIVE.fullmatch(line) or not _ends_sentence(comments.get(number - 1, "")):
            continue
        if meant := _meant(begin[1]):
            yield number, begin[1], meant


def _meant(word: str) -> str:
    """Return the directive that a word probably means; empty if it is the first word of a sentence."""
    if word.islower() and word in MEANT:
        return MEANT[word]
    near = difflib.get_close_matches(word.lower(), DIRECTIVES, 1, 0 if word.islower() else ALIKE)
    return near[0] if near else ""


ALIKE = 0.88
"""The similarity, from 0 to 1, from which a word with a capital letter is taken for a directive."""


def _ends_sentence(line: str) -> bool:
    patterns = (HEADING, DIRECTIVE)
    return not line.strip() or line.rstrip()[-1] in ".?!" or any(pattern.fullmatch(line) for pattern in patterns)


def not_a_directive(word: str, meant: str) -> str:
    """Return the error for a line that looks like a directive."""
    if word == meant:
        return f"{word}: has no value; write # {word}: ... or leave the line out"
    return (
        f"there is no directive {word}: ...; did you mean # {meant}: ...? The directives are {', '.join(DIRECTIVES)}. "
        f"A sentence begins with a capital letter: {word.capitalize()}: ..."
    )

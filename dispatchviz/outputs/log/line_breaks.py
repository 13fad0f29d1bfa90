"""Sentences broken into lines, as ``textwrap`` breaks them: it decides where a word itself may have to be broken."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator


def broken(sentence: str, begin: str, width: int) -> Iterator[str]:
    """The lines of a sentence, each with the same beginning; long beginnings leave room for 50 characters."""
    room = max(width - len(begin), 50)
    start, end = 0, len(sentence)
    if _is_odd(sentence):
        end = -1
    while end - start > room:
        blank = sentence.rfind(" ", start, start + room + 1)
        word = sentence[blank + 1 :].partition(" ")[0]
        if blank < 0 or "-" in word or len(word) > room:
            end = -1  # the word itself may be broken
        else:
            yield begin + sentence[start:blank]
            start = blank + 1
    if end >= 0:
        yield begin + sentence[start:]
    else:
        yield from textwrap.wrap(sentence[start:], len(begin) + room, initial_indent=begin, subsequent_indent=begin)


def _is_odd(sentence: str) -> bool:
    """Whether there are blanks that are not kept as they are."""
    return not sentence or "  " in sentence or "\n" in sentence or sentence[0] == " " or sentence[-1] == " "

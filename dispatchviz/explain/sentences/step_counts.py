"""Count the steps of a trace, in one way for all screens, pages and messages.

A step's number counts from 0, as in the log, in ``--step`` and in links: it is written without commas, so that it can
be typed again. ``of`` is followed by the number of all steps. Hence the last of 326 steps is step 325, and is marked.
"""

from __future__ import annotations

PLACE = "step {step} of {count}"
LAST = " (last)"
"""Behind the place of the last step: its number is one less than the number of steps."""

PART = "SOME of COUNT steps"
"""As a page fills it in."""


def place_of(step: int, count: int) -> str:
    """``step 2 of 326``, ``step 325 of 326 (last)``."""
    return PLACE.format(step=step, count=f"{count:,}") + (LAST if step == count - 1 else "")


def number_of_steps(count: int) -> str:
    """``326 steps``."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def part_of(some: int, count: int) -> str:
    """``3 of 326 steps``, of a filter."""
    return f"{some:,} of {number_of_steps(count)}"


def numbers_of_steps(count: int) -> str:
    """``0 to 325``: the numbers that can be typed."""
    return f"0 to {count - 1}" if count else "none"

"""Text for Markdown, in which no character acts as markup."""

from __future__ import annotations

import re

_MARKS = re.compile(r"[\\`*<]|\](?=[(\[])|(?<![^\W_])_+|_+(?![^\W_])")


def plain(text: str) -> str:
    """Return one of our sentences with its special characters escaped."""
    return _MARKS.sub(lambda found: "".join(f"\\{mark}" for mark in found[0]), text)


def code(text: str) -> str:
    """Return text as code in backticks. The text itself may contain backticks."""
    marks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    room = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{marks}{room}{text}{room}{marks}"


def cell(markdown: str) -> str:
    """Return Markdown for a table cell. A bar would end the cell, even within code."""
    return markdown.replace("|", "\\|")


def fenced(text: str, language: str = "") -> list[str]:
    """Return lines between fences that none of the lines can close."""
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return [f"{fence}{language}", *text.split("\n"), fence]

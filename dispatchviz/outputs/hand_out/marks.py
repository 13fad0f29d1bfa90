"""Text as Markdown writes it: nothing in it is a mark."""

from __future__ import annotations

import re

_MARKS = re.compile(r"[\\`*<]|\](?=[(\[])|(?<![^\W_])_+|_+(?![^\W_])")


def plain(text: str) -> str:
    """A sentence of ours: nothing in it is a mark."""
    return _MARKS.sub(lambda found: "".join(f"\\{mark}" for mark in found[0]), text)


def code(text: str) -> str:
    """As it is, in backticks, of which the text may have some."""
    marks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    room = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{marks}{room}{text}{room}{marks}"


def cell(markdown: str) -> str:
    """What stands in a table, in which a bar ends a cell, even within code."""
    return markdown.replace("|", "\\|")


def fenced(text: str, language: str = "") -> list[str]:
    """Lines as they are, between fences that none of them can close."""
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return [f"{fence}{language}", *text.split("\n"), fence]

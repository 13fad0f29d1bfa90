"""Templates, style sheets and scripts without what only their authors read: comments, indents, spaces around signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping


def lean_template(text: str) -> str:
    """Return a template without new lines between its elements, which are blocks or in flex containers."""
    return text.replace(">\n<", "><")


def lean_style(text: str) -> str:
    """Return a style sheet that has the same rules."""
    return STYLE_SIGNS.sub(r"\1", _lines(text))


def lean_script(text: str) -> str:
    """Return a script that does the same. Its texts stay as they are. A regular expression must have no quotation mark,
    and no space beside one of the signs: it writes ``\\x22`` and ``\\s``.
    """
    return SCRIPT_SIGNS.sub(r"\1\2", SCRIPT_LINES.sub(r"\1", _lines(text)))


LEAN: Mapping[str, Callable[[str], str]] = {".html": lean_template, ".css": lean_style, ".js": lean_script}
"""The function for each kind of file."""


def _lines(text: str) -> str:
    """Return a script or a style sheet without indents and comments. In a line of code, a comment follows a comma,
    ``;`` or a bracket.
    """
    return "".join(f"{line.strip()}\n" for line in COMMENT.sub("", text).splitlines() if line.strip())


COMMENT = re.compile(r"(?:^|(?<=[;{},(]))[ \t]*(//[^\n]*|/\*.*?\*/[ \t]*)$", re.MULTILINE | re.DOTALL)

STYLE_SIGNS = re.compile(r";?\s*([{};,]|(?<=[a-z]):(?= ))\s*")
"""The signs of a style sheet that need no spaces around them, nor a semicolon before them."""

SCRIPT_LINES = re.compile(r"([{;,(])\n")
"""The signs of a script that need no new line after them."""

TEXT = r'"[^"\n]*"|`(?:[^`$]|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^}]*\})*\})*`'
"""A text of a script: in quotation marks, or a template, in which another one may be."""

SCRIPT_SIGNS = re.compile(rf"({TEXT})| *([=!?&|<>,:{{}}]+) *")
"""The texts of a script, and the signs that need no spaces around them."""

"""The names, read from ``names.txt``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).parent / "names.txt"

GONE = "gone: "


class Name(NamedTuple):
    """A name of PyTorch from a text for learners, a backtrace or a header."""

    section: str
    text: str
    remark: str
    """A remark about the name. For a name that PyTorch no longer has, its replacement."""
    gone: bool
    """True if PyTorch no longer has the name."""
    wanted: str = ""
    """The view or kind of event that must show it, if many do; empty if any may."""


def names() -> list[Name]:
    """Return all names, in the order of the file."""
    found: list[Name] = []
    section = ""
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.append(_name(section, line))
    return found


def _name(section: str, line: str) -> Name:
    front, _, remark = line.partition(" -- ")
    text, _, wanted = front.partition(" @ ")
    return Name(section, text, remark.removeprefix(GONE), remark.startswith(GONE), wanted)

"""The programs that ship with the package, what each of them shows, and files with a name close to a missing one.

In a checkout the folder ``examples`` is beside the package, in an installed one within it. Its ``README.md`` says of
each program what there is to see, once for all who ask. ``examples/forum.py`` names a program on every machine: a file
where there is one of that name, else the one that ships.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

FOLDER = "examples"
LESSONS = "lessons"
"""The folder of the lessons within."""

_PACKAGE = Path(__file__).parents[1]


class Example(NamedTuple):
    """A program that ships with the package."""

    name: str
    """``forum``, ``chains/add``."""
    group: str
    """The heading that it stands under."""
    shows: str
    """What there is to see, in one line; names are in backticks."""

    @property
    def path(self) -> Path:
        """Its file."""
        return folder() / f"{self.name}.py"

    @property
    def script(self) -> str:
        """What runs it from here: ``examples/forum.py``, unless another file has that name here."""
        script = f"{FOLDER}/{self.name}.py"
        other = os.path.exists(script) and not os.path.samefile(script, self.path)
        return str(self.path) if other else script


@cache
def folder() -> Path:
    """Where they are."""
    within = _PACKAGE / FOLDER
    return within if within.is_dir() else _PACKAGE.parent / FOLDER


ERRORS = "errors"
"""The folder with a program for each message that is explained; ``docs/messages.md`` lists them, no screen does."""

TESTS = "testing/"
"""What pytest runs: as programs these files do nothing."""


@cache
def examples() -> tuple[Example, ...]:
    """All programs, in the order in which they are told; the founding program is the first."""
    text = (folder() / "README.md").read_text("utf-8")
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    groups = zip(parts[::2], parts[1::2], strict=True)
    told = (Example(name, group, shows) for group, part in groups for name, shows in _ROW.findall(part))
    return tuple(example for example in told if not example.name.startswith(TESTS))


_ROW = re.compile(r"^\| `(.*)\.py` \| (.*) \|$", re.MULTILINE)


def located(script: str) -> str:
    """The file of a script: itself, or the example that it names where there is no such file."""
    inner = _inner(script)
    shipped = folder() / inner if inner else None
    return str(shipped) if shipped and not os.path.exists(script) and shipped.is_file() else script


def names_example(script: str) -> bool:
    """Return whether a script is the short name of an example, as ``examples/forum.py``."""
    inner = _inner(script)
    return inner is not None and (folder() / inner).is_file()


def is_lesson(script: Path) -> bool:
    """Return whether a script that names an example is one of the lessons."""
    return script.parent == Path(FOLDER, LESSONS) or script.parent == folder() / LESSONS


def script_of(path: Path) -> str:
    """What names a file: of an example its short name, where that is no other file."""
    return next((example.script for example in examples() if example.path == path), str(path))


def alternatives(script: str) -> str:
    """What to say of a script that is not there: the examples beside it, if it is named like one; a file beside it or
    an example that was probably meant; else nothing."""
    inner = _inner(script)
    if inner is None:
        name = script.removesuffix(".py")
        named = next((each.script for each in examples() if each.name == name), "") if "/" not in script else ""
        return near_file(script) or (named and f"; did you mean {named}?")
    beside = [name for name in (example.name for example in examples()) if _parent(name) == _parent(inner)]
    return f"; the examples are {', '.join(f'{FOLDER}/{name}.py' for name in beside)}" if beside else ""


def _inner(script: str) -> str | None:
    """The part of a name after ``examples/``; None if it does not begin so."""
    parts = PurePath(script).parts
    return "/".join(parts[1:]) if len(parts) > 1 and parts[0] == FOLDER and ".." not in parts else None


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


CLOSE = 0.75
"""How alike names are, from 0 to 1, of which one may be a misspelling of the other."""


def near_file(path: str) -> str:
    """The end of an error: a file beside it that was probably meant; empty if there is none."""
    import difflib

    folder, name = os.path.split(path)
    try:
        names = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except OSError:
        return ""
    alike = [each for each in names if os.path.splitext(each)[1] == os.path.splitext(name)[1]]
    without_suffix = [each for each in names if os.path.splitext(each)[0] == name]
    close = difflib.get_close_matches(name, alike, 1, CLOSE) or without_suffix
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""

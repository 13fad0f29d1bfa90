"""The programs that ship with the package, their descriptions, and suggestions for missing files.

In a checkout, the folder ``examples`` is beside the package; in an installation, it is inside. Its ``README.md``
describes each program once for all uses. ``examples/forum.py`` names a program on every machine: the file of that name
if there is one, else the program that ships.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

FOLDER = "examples"
LESSONS = "lessons"
"""The folder of the lessons in ``examples``."""
MISCONCEPTIONS = "misconceptions"
"""The folder of the lessons that ask about one misconception each."""

_PACKAGE = Path(__file__).parents[1]


class Example(NamedTuple):
    """A program that ships with the package."""

    name: str
    """The name without suffix: ``forum``, ``chains/add``."""
    group: str
    """The heading that the example is listed under."""
    shows: str
    """A description in one line, with names in backticks."""

    @property
    def path(self) -> Path:
        """The file of the example."""
        return folder() / f"{self.name}.py"

    @property
    def script(self) -> str:
        """The script name that runs it from here: ``examples/forum.py``, or the full path if another file has that name
        here.
        """
        script = f"{FOLDER}/{self.name}.py"
        other = os.path.exists(script) and not os.path.samefile(script, self.path)
        return str(self.path) if other else script


@cache
def folder() -> Path:
    """Return the folder of the examples."""
    within = _PACKAGE / FOLDER
    return within if within.is_dir() else _PACKAGE.parent / FOLDER


ERRORS = "errors"
"""The folder with a program for each explained message. ``docs/lists/messages.md`` lists them, but no screen does."""

TESTS = ("testing/", "library/")
"""The folders of files for pytest. As programs these files do nothing."""


@cache
def examples() -> tuple[Example, ...]:
    """Return all programs, in the order of the README. The founding program is the first."""
    text = (folder() / "README.md").read_text("utf-8")
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    groups = zip(parts[::2], parts[1::2], strict=True)
    rows = (Example(name, group, shows) for group, part in groups for name, shows in _ROW.findall(part))
    return tuple(example for example in rows if not example.name.startswith(TESTS))


_ROW = re.compile(r"^\| `(.*)\.py` \| (.*) \|$", re.MULTILINE)


def located(script: str) -> str:
    """Return the file of a script: the script itself if it exists, else the example that it names."""
    inner = _inner(script)
    shipped = folder() / inner if inner else None
    return str(shipped) if shipped and not os.path.exists(script) and shipped.is_file() else script


def names_example(script: str) -> bool:
    """Return whether a script is the short name of an example, such as ``examples/forum.py``."""
    inner = _inner(script)
    return inner is not None and (folder() / inner).is_file()


def is_lesson(script: Path) -> bool:
    """Return whether a script that names an example is one of the lessons."""
    lessons = (LESSONS, MISCONCEPTIONS)
    return script.parent in [Path(top, each) for top in (FOLDER, folder()) for each in lessons]


def script_of(path: Path) -> str:
    """Return the name of a file: the short name of an example, unless that is another file."""
    return next((example.script for example in examples() if example.path == path), str(path))


def alternatives(script: str) -> str:
    """Return suggestions for a script that does not exist: the examples beside it if it is named like one, a similar
    file or example, or an empty string.
    """
    inner = _inner(script)
    if inner is None:
        name = script.removesuffix(".py")
        named = next((each.script for each in examples() if each.name == name), "") if "/" not in script else ""
        return near_file(script) or (named and f"; did you mean {named}?")
    beside = [name for name in (example.name for example in examples()) if _parent(name) == _parent(inner)]
    return f"; the examples are {', '.join(f'{FOLDER}/{name}.py' for name in beside)}" if beside else ""


def _inner(script: str) -> str | None:
    """Return the part of a name after ``examples/``, or None if it does not begin with that."""
    parts = PurePath(script).parts
    return "/".join(parts[1:]) if len(parts) > 1 and parts[0] == FOLDER and ".." not in parts else None


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


CLOSE = 0.75
"""The similarity, from 0 to 1, from which one name may be a misspelling of the other."""


def near_file(path: str) -> str:
    """Return the end of an error message that suggests a similar file beside it, or an empty string."""
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

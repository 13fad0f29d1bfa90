"""Programs that treat their process as real programs do, good and bad: a name, a source, and how each is run.

The sources are in the files here, one for each subject: a line ``## name``, then the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Odd(NamedTuple):
    """A program, and the inputs of its process."""

    name: str
    source: str
    environment: Mapping[str, str] = {}
    given: bytes = b""
    shell: str = ""
    """Redirections of its file descriptors in a shell: ``>/dev/full``."""
    files: Mapping[str, str] = {}
    """The files beside it."""
    arguments: tuple[str, ...] = ()


_SUBJECTS = (
    "output", "errors", "signals", "exits", "last_things", "interpreter", "surroundings", "library", "processes",
)  # fmt: skip


def _read(subject: str) -> Iterator[Odd]:
    text = (Path(__file__).parent / f"{subject}.txt").read_text(encoding="utf-8")
    for part in f"\n{text}".split("\n## ")[1:]:
        name, _, source = part.partition("\n")
        yield Odd(name, source)


_BESIDE = {
    "beside.py": "WORD = 'word'\ndef f(): return __file__[-9:]\ndef g():\n    raise ValueError('beside')\n",
    "broken.py": "x = (\n",
}
_GIVEN = "J\xf6rg\nsecond line\n".encode()

PLAIN = [
    odd._replace(given=_GIVEN, files=_BESIDE, arguments=("--lr", "3", "-o", "x"))
    for subject in _SUBJECTS
    for odd in _read(subject)
]
"""Programs that are compared with Python."""

TORCH = [*_read("tensors")]
"""Programs that are compared with PyTorch."""


def _also(name: str, **changes: object) -> None:
    """Add the same program, run in another way."""
    by_name = {odd.name: odd for odd in PLAIN}
    how = " ".join(f"{key}={value}" for key, value in changes.items())
    PLAIN.append(by_name[name]._replace(name=f"{name}, {how}", **changes))  # type: ignore[arg-type]


for _name in ("umlauts", "the type of sys.stdout", "umlauts in an error", "lone surrogates printed", "input"):
    _also(_name, environment={"PYTHONIOENCODING": "latin-1"})
    _also(_name, environment={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
for _name in ("umlauts", "exit with a number", "a cause", "what can be done with sys.stdout", "huge output", "input"):
    _also(_name, shell=">/dev/full")
    _also(_name, shell=">&-")
    _also(_name, shell="2>&-")
for _name in ("umlauts", "a cause"):
    _also(_name, shell="2>/dev/full")
    _also(_name, shell="<&-")
for _name in ("warnings", "options for warnings", "a resource that is not closed"):
    _also(_name, environment={"PYTHONWARNINGS": "error"})
    _also(_name, environment={"PYTHONWARNINGS": "default"})
_also("an error in a class body", environment={"PYTHONUNBUFFERED": "1"})
_also("a subprocess writes before what is not flushed", environment={"PYTHONUNBUFFERED": "1"})
_also("the type of sys.stdout", environment={"PYTHONUNBUFFERED": "1"})
_also("atexit", environment={"PYTHONDEVMODE": "1"})
_also("SIGHUP", shell="trap '' HUP;")

"""Pages whose commands are run: below each command stands what it prints.

A page is Markdown as people read it, with five rules:

- A block after a line that ends with ``NAME``, in backticks and with a colon, is the file NAME.
- Another Python block is a program of its own, which has to end well.
- A ``console`` block has commands, each behind ``$ ``, and below each its output, which is written here. Programs and
  traces are in one folder for the whole page, in which the commands are run one after the other.
- A comment before such a block, ``<!-- show: A ... B -->``, chooses of each output the lines from the first with A to
  before the next one with B, ``<!-- show: A -->`` all lines with A but those
  of reasons.
- Indented commands of dispatchviz are run after all that, and have to end well.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- show: (?P<shown>[^\n]*?) -->\n\n)?"
    r"(?:`(?P<name>[\w./-]+)`:\n\n)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
INDENTED = re.compile(r"^ {4}(dispatchviz\b.*)$", re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
HANGS = 600


class PageError(Exception):
    """A command of a page that cannot be run, or does not end as it should."""


class Part(NamedTuple):
    """The part of an output that a page shows."""

    begin: str = ""
    end: str = ""
    """Without one, the lines with ``begin``."""

    @classmethod
    def read(cls, comment: str) -> Part:
        """What stands in a comment; all lines if there is none."""
        begin, _, end = comment.partition(" ... ")
        return cls(begin.strip(), end.strip())

    def of(self, lines: list[str]) -> list[str]:
        """With ``...`` for what is left out. Raises PageError if it is not there."""
        first = _first(lines, self.begin, 0)
        chosen = [k for k, line in enumerate(lines) if self.begin in line and not (self.begin and _is_reason(line))]
        if self.end:
            chosen = list(range(first, _first(lines, self.end, first + 1)))
        around = itertools.pairwise([-1, *chosen, len(lines)])
        return [row for before, at in around for row in (["..."] * (at > before + 1) + lines[at : at + 1])]


def _is_reason(line: str) -> bool:
    """Return whether it is a line of a reason, which would be cut off in its midst."""
    return line.lstrip().startswith("|")


def _first(lines: list[str], words: str, at: int) -> int:
    for number, line in enumerate(lines[at:], at):
        if words in line:
            return number
    raise PageError(f"no line of the output has {words!r}:\n" + "\n".join(lines))


def pages() -> list[Path]:
    """Those with commands."""
    found = (path for path in (ROOT / "docs").rglob("*.md") if "```console" in path.read_text("utf-8"))
    return sorted(found)


def with_outputs(text: str) -> str:
    """The page with the outputs of its commands as they are now. Raises PageError for one that fails."""
    with TemporaryDirectory() as folder:
        written = BLOCK.sub(lambda block: _run_block(block, Path(folder)), text)
        for command in INDENTED.findall(BLOCK.sub("", text)):
            _checked(_run(command, Path(folder)), command)
    return written


def _run_block(block: re.Match[str], folder: Path) -> str:
    code = block["text"]
    if block["name"]:
        (folder / block["name"]).write_text(code, "utf-8")
    elif block["language"] == "python":
        (folder / "block.py").write_text(code, "utf-8")
        _checked(_run("python block.py", folder), code)
    elif block["language"] == "console":
        part = Part.read(block["shown"] or "")
        return block[0].replace(code, "".join(_console(code, folder, part)))
    return block[0]


def _console(code: str, folder: Path, part: Part) -> Iterator[str]:
    for command in COMMAND.findall(code):
        ended = _run(command, folder)
        printed = plain(_checked(ended, command), folder).splitlines()
        lines = part.of(printed) if printed else []
        yield "".join(f"{line}\n" for line in (f"$ {command}", *lines))


def _checked(ended: subprocess.CompletedProcess[str], command: str) -> str:
    if ended.returncode not in (0, 1):
        raise PageError(f"{command}\nends with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command, comments=True)
    if program not in ("dispatchviz", "python"):
        raise PageError(f"{command}: pages run dispatchviz and python")
    begin = [sys.executable, "-m", "dispatchviz"] if program == "dispatchviz" else [sys.executable]
    places = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    changed = {"PYTHONPATH": str(ROOT), "DISPATCHVIZ_CUDA": "emulated", "COLUMNS": "100", **places}
    environment = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LINES")
    }
    return subprocess.run(
        [*begin, *arguments],
        cwd=folder,
        env={**environment, **changed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=HANGS,
        check=False,
    )


def plain(printed: str, folder: Path) -> str:
    """As it is for every reader: without the places of this machine, and what it has for ``cuda``."""
    text = printed.replace(str(folder / "cache"), "~/.cache").replace(str(folder), ".")
    lines = re.sub(r", cuda: emulated on NumPy.*$", "", text, flags=re.MULTILINE).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")

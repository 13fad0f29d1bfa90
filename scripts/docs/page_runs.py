"""Pages whose commands are run, with the output below each command.

A page is Markdown as people read it, with five rules:

- A block after a line that ends with ``NAME``, in backticks and with a colon, is the file NAME.
- Any other Python block is a separate program, which must exit with status 0.
- A ``console`` block has commands, each after ``$ ``, with the output below, which is written here. Programs and traces
  are in one folder for the whole page. The commands run in order.
- A comment before a block selects a part of each output. ``<!-- show: A ... B -->`` selects the lines from the first
  one with A up to, but not including, the next one with B. ``<!-- show: A -->`` selects all lines with A except those
  of reasons.
- Indented commands of dispatchviz run after all that, and must exit with status 0.

A page with ``--engine torch`` in a ``console`` block needs PyTorch 2.14 (``.venv-torch/bin/python -m scripts.docs
PAGE``).
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
RECORDS = re.compile(r"^\$ dispatchviz .*--engine torch", re.MULTILINE)
"""A command that records an installed PyTorch."""
HANGS = 600


class PageError(Exception):
    """A command of a page that cannot be run, or that does not end as it should."""


class Part(NamedTuple):
    """The part of an output that a page shows."""

    begin: str = ""
    end: str = ""
    """The end; without one, the lines with ``begin`` are shown."""

    @classmethod
    def read(cls, comment: str) -> Part:
        """Return the part that a comment selects; all lines if there is no comment."""
        begin, _, end = comment.partition(" ... ")
        return cls(begin.strip(), end.strip())

    def of(self, lines: list[str]) -> list[str]:
        """Return the selected lines, with ``...`` for lines that are left out. Raise PageError if they are missing."""
        first = _first(lines, self.begin, 0)
        chosen = [k for k, line in enumerate(lines) if self.begin in line and not (self.begin and _is_reason(line))]
        if self.end:
            chosen = list(range(first, _first(lines, self.end, first + 1)))
        return excerpt(lines, chosen)


def excerpt(lines: list[str], chosen: list[int]) -> list[str]:
    """Return the chosen lines, with ``...`` for lines that are left out."""
    around = itertools.pairwise([-1, *chosen, len(lines)])
    return [row for before, at in around for row in (["..."] * (at > before + 1) + lines[at : at + 1])]


def _is_reason(line: str) -> bool:
    """Return whether a line belongs to a reason, which would be cut off in the middle."""
    return line.lstrip().startswith("|")


def _first(lines: list[str], words: str, at: int) -> int:
    for number, line in enumerate(lines[at:], at):
        if words in line:
            return number
    raise PageError(f"no line of the output has {words!r}:\n" + "\n".join(lines))


def pages(recording: bool = False) -> list[Path]:
    """Return the pages with commands: those that record an installed PyTorch, or the others."""
    texts = {path: path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))}
    return [path for path, text in texts.items() if "```console" in text and bool(RECORDS.search(text)) == recording]


def with_outputs(text: str) -> str:
    """Return the page with the current outputs of its commands. Raise PageError if a command fails."""
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
    """Return an output for every reader: without the paths of this machine, its kind of ``cuda``, and the build of its
    PyTorch.
    """
    text = printed.replace(str(folder / "cache"), "~/.cache").replace(str(folder), ".")
    text = re.sub(r", cuda: (emulated on NumPy|none \().*$", "", text, flags=re.MULTILINE)
    lines = re.sub(r"(on PyTorch [\d.]+)\+\w+ ", r"\1 ", text).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")

"""Files to share, in each format: the same program gives the same bytes at any time and place, and the texts of the
program are unchanged.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dispatchviz.tui.played.cast_file import shown_screens
from dispatchviz.tui.played.played_keys import texts
from tests.waiting import HANGS

pytestmark = pytest.mark.long

ODD = """\
import torch
größe = torch.ones(2, requires_grad=True)
seen = {"{}|<>\\"\\\\": größe * 2, "🙂 שלום": größe.exp()}
both = seen["{}|<>\\"\\\\"] + seen["🙂 שלום"]
both.sum().backward()
print("</script><b>&amp; a|b `c` *d* \\u202e", größe.grad)
"""

COMMANDS = (
    *(["export", "odd.py", "-o", f"odd{suffix}"] for suffix in (".txt", ".md", ".html", ".svg", ".dot", ".jsonl")),
    *(["export", "odd.py", "-o", f"odd{suffix}"] for suffix in (".perfetto.json", ".json.gz", ".jsonl.gz", ".parquet")),
    ["export", "odd.py", "-o", "calls.svg", "--picture", "calls"],
    ["export", "odd.py", "-o", "views.md", "--steps", "40", "--view", "key-set", "--view", "source"],
    ["record-tour", "--keys", "] n s", "-o", "odd.cast", "odd.py"],
    ["record-tour", "--keys", "] n", "-o", "screen.svg", "odd.py"],
)
MAKES = f"""\
import contextlib, sys
from dispatchviz.cli import main
for command in {COMMANDS!r}:
    with contextlib.suppress(SystemExit):
        main(command)
main(["open", "odd.jsonl", "--step", "60", "--json"])
"""


@cache
def made(seed: str) -> dict[str, bytes]:
    """Return the files that a process writes, by name, in a folder of its own, and its output."""
    with TemporaryDirectory() as name:
        folder = Path(name, "of its own", seed)
        folder.mkdir(parents=True)
        (folder / "odd.py").write_text(ODD, "utf-8")
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", MAKES], cwd=folder, env=environment, capture_output=True, timeout=HANGS, check=False
        )
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
        return files | {"printed": done.stdout, "complaints": done.stderr}


def text(name: str) -> str:
    return made("1")[name].decode()


def test_each_file_exists() -> None:
    named = {command[command.index("-o") + 1] for command in COMMANDS}
    assert named <= set(made("1")), text("complaints")


def test_same_program_gives_the_same_bytes() -> None:
    assert {name for name in {*made("1"), *made("2")} if compared(name, "1") != compared(name, "2")} == set()


def compared(name: str, seed: str) -> bytes | None:
    """Return the bytes to compare. A ``.jsonl.gz`` is written while the program runs, so the clock decides where its
    gzip members end.
    """
    data = made(seed).get(name)
    return gzip.decompress(data) if data is not None and name.endswith(".jsonl.gz") else data


def test_lines_of_the_program_come_out_as_themselves() -> None:
    line = 'both = seen["{}|<>\\"\\\\"] + seen["🙂 שלום"]'
    assert line in text("odd.txt")
    assert line in text("odd.md")
    assert line in text("views.md")
    for packed_or_not in (made("1")["odd.perfetto.json"], gzip.decompress(made("1")["odd.json.gz"])):
        assert any(line in event["name"] for event in json.loads(packed_or_not)["traceEvents"])
    assert any(line in html.unescape(row).replace("\xa0", " ") for row in texts(text("screen.svg")))
    assert any(line in row for row in shown_screens(text("odd.cast")))
    assert line in html.unescape(text("calls.svg")).replace("\xa0", " ")
    assert "größe" in text("odd.svg")


def test_nothing_hides_and_no_markup_is_markup() -> None:
    """The right-to-left override is escaped, and the end tag of a script ends no script."""
    view = text("printed")[text("printed").index("\n{\n") :]
    assert json.loads(view)["step"] == 60
    files = [text(name) for name in ("odd.txt", "odd.md", "odd.perfetto.json", "odd.svg", "screen.svg", "odd.cast")]
    assert all("\u202e" not in written for written in [*files, view])
    assert text("odd.html").count("</script>") == text("odd.html").count("<script")
    assert "<b>" not in text("screen.svg")

"""Texts that name the model's release: code, pages, examples, tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from dispatchviz.foundation.pytorch_release import MINOR
from truth.following import Left, some

ROOT = Path(__file__).parents[2]
FOLDERS = ("dispatchviz", "docs", "examples", "scripts", "tests", "truth")
SUFFIXES = {".py", ".md", ".yaml", ".toml", ".txt", ""}
THEN = "change dispatchviz/foundation/pytorch_release.py, the Makefile and these; keep what is about that release alone"


def left() -> Iterator[Left]:
    """Yield the files that name the model's release, unless it is the installed one."""
    if not version("torch").startswith(f"{MINOR}."):
        paths = [path for path in ROOT.iterdir() if path.is_file()]
        paths += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
        yield from some(f"files that name {MINOR}", [*naming(MINOR, sorted(paths))], THEN)


def naming(release: str, paths: list[Path]) -> Iterator[str]:
    """Yield the files whose text names a release, with the number of times."""
    word = re.compile(rf"(?<![\d.]){re.escape(release)}(?!\d)")
    for path in paths:
        is_text = path.suffix in SUFFIXES and path.is_file() and "records" not in path.parts
        if is_text and (found := word.findall(path.read_text("utf-8"))):
            yield f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name} ({len(found)})"

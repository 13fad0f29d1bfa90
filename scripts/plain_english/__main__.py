"""Check docstrings, comments, texts on screen, pages and names of tests for words that readers stumble over.

python -m scripts.plain_english             all files
python -m scripts.plain_english PATH...     these files
python -m scripts.plain_english --count     the findings of each folder

It prints file, line, rule and words, and exits with 1 if it found any. An exception is a line of exceptions.txt with
its reason.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.plain_english.rules import RULES, Rule
from scripts.plain_english.texts import texts

ROOT = Path(__file__).parents[2]

FOLDERS = ("dispatchviz", "scripts", "tests", "truth", "benchmarks", "examples", "docs")

NOT_OURS = re.compile(
    r"dispatchviz/core/generated/|dispatchviz/explain/codegen/kept/|truth/records/|tests/data/|tests/live/programs/"
    r"|examples/errors/|scripts/plain_english/|\.venv|__pycache__"
)
"""Generated code, PyTorch's texts, and programs as people write them; and the rules, which name the words."""

EXCEPTIONS = Path(__file__).parent / "exceptions.txt"


class Finding(NamedTuple):
    """Words of a text that break a rule."""

    file: str
    line: int
    rule: Rule
    words: str


class Allowed(NamedTuple):
    """One line of exceptions.txt: ``file | rule | words | reason``."""

    file: str
    rule: str
    words: str
    reason: str


def main(arguments: Sequence[str]) -> int:
    """Print the findings; return the exit status."""
    named = [ROOT / each for each in arguments if not each.startswith("--")]
    paths = [path for path in named if _is_checked(path)] if named else list(_files())
    allowed = exceptions(EXCEPTIONS.read_text("utf-8"))
    found = [each for path in paths for each in findings(path)]
    left = [each for each in found if not any(_allows(entry, each) for entry in allowed)]
    stale = [] if named else [entry for entry in allowed if not any(_allows(entry, each) for each in found)]
    for line in _counted(left) if "--count" in arguments else map(_line, left):
        print(line)
    for entry in stale:
        print(f"{EXCEPTIONS.name}: no text needs this exception: {' | '.join(entry)}")
    print(f"{len(left)} findings, {len(allowed)} exceptions")
    return int(bool(left or stale))


def _line(found: Finding) -> str:
    return f"{found.file}:{found.line}: {found.rule.name}: {found.words!r} ({found.rule.advice})"


def _counted(found: Iterable[Finding]) -> Iterator[str]:
    for folder, count in Counter(_folder(each.file) for each in found).most_common():
        yield f"{count:5} {folder}"


def findings(path: Path, source: str | None = None) -> Iterator[Finding]:
    """Every place of a file where words break a rule; ``source`` replaces the text of the file."""
    name = path.relative_to(ROOT).as_posix()
    for text in texts(path, name, source):
        for rule in RULES:
            if text.kind in rule.kinds and (found := rule.breaks(text.text)):
                words = text.text[max(0, found.start() - 20) : found.end() + 20]
                yield Finding(name, text.line, rule, words.strip())


def exceptions(text: str) -> list[Allowed]:
    """The lines of exceptions.txt. ValueError for a line without a reason."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [Allowed(*(part.strip() for part in _parts(line))) for line in lines]


def _parts(line: str) -> list[str]:
    parts = line.split(" | ")
    if len(parts) != 4 or not parts[3].strip():
        raise ValueError(f"write `file | rule | words | reason`, not {line!r}")
    return parts


def _allows(entry: Allowed, found: Finding) -> bool:
    return entry.file == found.file and entry.rule == found.rule.name and entry.words in found.words


def _folder(file: str) -> str:
    return "/".join(file.split("/")[: 2 if file.startswith("dispatchviz") else 1])


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if _is_checked(path))
    yield from (
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "hatch_build.py")
    )


def _is_checked(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    return path.suffix in (".py", ".md", ".js", ".html", ".css") and not NOT_OURS.search(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

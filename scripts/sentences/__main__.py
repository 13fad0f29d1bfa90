"""Writes ``docs/lists/sentences.md``: every kind of sentence with an example, its program, its rule and what it claims.

python -m scripts.sentences            write the page; kinds that it has keep the programs of their examples
python -m scripts.sentences --all      search all programs again for the first example of each kind: two minutes
python -m scripts.sentences --check    write it nowhere; exit status 1 if it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.sentences.page import page

PAGE = Path(__file__).parents[2] / "docs" / "lists" / "sentences.md"


def main() -> int:
    """Exit status."""
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    text = page("" if "--all" in sys.argv[1:] else old)
    if "--check" in sys.argv[1:]:
        return int(old != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

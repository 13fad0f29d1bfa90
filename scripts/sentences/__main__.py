"""Writes ``docs/sentences.md``: every kind of sentence with an example, its program, its rule and what it claims.

python -m scripts.sentences            write the page
python -m scripts.sentences --check    write it nowhere; exit status 1 if it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.sentences.page import page

PAGE = Path(__file__).parents[2] / "docs" / "sentences.md"


def main() -> int:
    """Exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

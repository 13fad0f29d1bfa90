"""Write ``docs/lists/sentences.md``: every kind of sentence with an example, its program, its rule and its claims.

python -m scripts.sentences            write the page; known kinds keep the programs of their examples
python -m scripts.sentences --all      search all programs again for the first example of each kind: two minutes
python -m scripts.sentences --check    write nothing; exit status 1 if the page is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.sentences.page import page

PAGE = Path(__file__).parents[2] / "docs" / "lists" / "sentences.md"


def main() -> int:
    """Write or check the page, and return the exit status."""
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    text = page("" if "--all" in sys.argv[1:] else old)
    if "--check" in sys.argv[1:]:
        return int(old != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

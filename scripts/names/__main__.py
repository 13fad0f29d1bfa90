"""A script that writes ``docs/lists/names.md``: each name that learners search for, with the command that shows it.

    python -m scripts.names            write the page
    python -m scripts.names --check    write nothing; exit status 1 if the page is stale, or if a name is shown nowhere

Every name is searched for in all views of many steps of the example programs, and in the output of commands.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.names.name_list import names
from scripts.names.page import page
from scripts.names.places import found

PAGE = Path(__file__).parents[2] / "docs" / "lists" / "names.md"


def main() -> int:
    """Write or check the page, and return the exit status."""
    seen = found(names())
    missing = [name.text for name in names() if name not in seen]
    print(*(f"{name}: to be seen nowhere" for name in missing), sep="\n", end="\n" if missing else "")
    text = page(seen)
    if "--check" in sys.argv[1:]:
        return int(bool(missing) or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())

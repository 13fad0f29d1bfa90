"""Show a record as text: ``python -m truth.show programs/views``, a file, or one program such as ``views_of_views``.

``git diff`` shows packed records with it, once git is configured:

    git config diff.record.textconv "python3 -m truth.show"
"""

from __future__ import annotations

import sys
from pathlib import Path

from truth import records
from truth.programs import PROGRAMS
from truth.readable import readable


def shown(name: str) -> str:
    """The text of a record, of a file, or of one program. Raise FileNotFoundError if there is none."""
    if Path(name).is_file():
        return records.text(Path(name))
    if name in PROGRAMS:
        return "\n".join(readable(name, records.programs()[name])) + "\n"
    return records.text(records.file(name))


def main(names: list[str]) -> int:
    """The command line."""
    if not names:
        print(__doc__)
        return 2
    for name in names:
        sys.stdout.write(shown(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

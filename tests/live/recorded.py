"""``python recorded.py PROGRAM``: runs a program on the installed PyTorch, recorded, and ends as it does."""

from __future__ import annotations

import sys

from dispatchviz.engines import engine_named
from dispatchviz.process.early_end import die_of
from dispatchviz.program import run


def main() -> None:
    """What it printed is its own; the number of events that were recorded goes to descriptor 3."""
    script, *args = sys.argv[1:]
    outcome = run(script, args, shows_errors=True, engine=engine_named("torch"))
    print(len(outcome.trace), file=sys.stderr)
    if outcome.signal:
        die_of(outcome.signal)
    sys.exit(outcome.status)


if __name__ == "__main__":
    main()

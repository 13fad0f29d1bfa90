"""``python recorded.py STEPS PROGRAM``: run a program on the installed PyTorch, recorded with numbers and hashes, and
end as it does. Write the number of its events to the file ``STEPS``, or -1 if the recorder dropped out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dispatchviz.running.engines import engine_named
from dispatchviz.running.process.early_end import die_of
from dispatchviz.running.program import run


def main() -> None:
    """Run the program. The output is the program's own."""
    _, steps, script, *args = sys.argv
    outcome = run(script, args, shows_errors=True, hashes=True, values=16, engine=engine_named("torch"))
    Path(steps).write_text(str(len(outcome.trace)))
    if outcome.signal:
        die_of(outcome.signal)
    sys.exit(outcome.status)


if __name__ == "__main__":
    main()

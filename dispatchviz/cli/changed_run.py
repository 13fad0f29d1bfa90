"""Run a program with some of its lines changed, in a process of its own.

The stepper starts this process (``tui/comparison/what_if``), because the terminal belongs to the stepper, and passes
the name of a file with a ``ChangedRequest``. The trace goes to a file and contains the errors of the program. The exit
status is not 0 only if there is no trace.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dispatchviz.cli.checked_run import seed
from dispatchviz.cli.script_run import run_script
from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changed_request import ChangedRequest
from dispatchviz.explain.comparison.what_if.changes import read_change
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.running.engine_choice.choice import Choice
from dispatchviz.running.program_source import script_of


def main() -> int:
    """Run the request in the file that ``sys.argv`` names; return the exit status."""
    return _run(ChangedRequest.decoded(Path(sys.argv[1]).read_text("utf-8")))


def _run(request: ChangedRequest) -> int:
    changes = [read_change(text) for text in request.changes]
    try:
        if request.engine == "torch":
            seed("torch")  # else two runs of diff draw different numbers
        run_script(
            script_of(request.kind, request.program),
            request.arguments,
            request.cuda,
            request.save,
            to_stderr=True,
            only=request.only,
            hashes=request.hashes,
            values=request.values,
            rewritten=lambda text: request.text or text,
            changed=lambda tree: changed_program(tree, changes),
            engine=Choice(request.engine),
        )
    except DispatchvizError as error:
        complain(str(error))
        return 2
    return 0

"""Runs a program with lines of it changed, in a process of its own: ``python -m dispatchviz.cli.changed_run REQUEST``.

The stepper begins it (``tui/comparison/what_if``), since the terminal is the stepper's. The trace goes to a file;
errors of the program are in it, and only if there is no trace the exit status is not 0.
"""

from __future__ import annotations

import sys

from dispatchviz.cli.script_run import run_script
from dispatchviz.errors import DispatchvizError
from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changed_request import ChangedRequest
from dispatchviz.explain.comparison.what_if.changes import read_change
from dispatchviz.program_source import Code, Module, Script
from dispatchviz.terminal_output import complain


def main(request: ChangedRequest) -> int:
    """Runs it and gives the exit status."""
    changes = [read_change(text) for text in request.changes]
    try:
        run_script(
            _script(request),
            request.arguments,
            request.cuda,
            request.save,
            to_stderr=True,
            hashes=request.hashes,
            changed=lambda tree: changed_program(tree, changes),
        )
    except DispatchvizError as error:
        complain(str(error))
        return 2
    return 0


def _script(request: ChangedRequest) -> Script:
    match request.kind:
        case "code":
            return Code(request.program)
        case "module":
            return Module(request.program)
    return request.program


if __name__ == "__main__":
    sys.exit(main(ChangedRequest.decoded(sys.argv[1])))

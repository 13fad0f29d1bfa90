"""Runs a program on the model or on an installed PyTorch, in a process of its own, for ``dispatchviz check``.

In one process ``import torch`` would mean both. The trace goes to a file; errors of the program are in it.
"""

from __future__ import annotations

import os
import sys
from typing import Literal

import msgspec

from dispatchviz.cli.script_run import run_script
from dispatchviz.errors import DispatchvizError
from dispatchviz.program_source import script_of
from dispatchviz.recording import EngineName
from dispatchviz.terminal_output import complain


class CheckedRequest(msgspec.Struct, frozen=True):
    """One of the two runs."""

    engine: EngineName
    kind: Literal["file", "code", "module"]
    program: str
    arguments: tuple[str, ...]
    cuda: str
    save: str
    """The file for the trace."""


def main() -> int:
    """Runs what ``sys.argv`` asks for; gives 0 if there is a trace."""
    request = msgspec.json.decode(os.fsencode(sys.argv[1]), type=CheckedRequest)
    try:
        run_script(
            script_of(request.kind, request.program),
            request.arguments,
            request.cuda,
            request.save,
            engine=request.engine,
        )
    except DispatchvizError as error:
        complain(str(error))
        return error.status
    return 0

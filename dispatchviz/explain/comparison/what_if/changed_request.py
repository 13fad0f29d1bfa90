"""What is asked of a process that runs a program with lines of it changed, and whether a trace's program can be run."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.errors import DispatchvizError
from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.shipped_examples import located


class ChangedRequest(msgspec.Struct, frozen=True):
    """A run with changes, as similar to that of a trace as it can be."""

    kind: Literal["file", "code", "module"]
    program: str
    """The file, the text, or the module's name."""
    arguments: tuple[str, ...]
    changes: tuple[str, ...]
    cuda: str
    hashes: bool
    save: str
    """The file for the trace."""

    def encoded(self) -> str:
        """As one word of a command line, whatever is in it."""
        return base64.b64encode(msgspec.json.encode(self)).decode()

    @classmethod
    def decoded(cls, text: str) -> ChangedRequest:
        """What was encoded."""
        return msgspec.json.decode(base64.b64decode(text), type=cls)


def changed_request(trace: Trace, change: Change, save: str, run_arguments: Sequence[str] = ()) -> ChangedRequest:
    """The run of a trace's program with a change. ``run_arguments`` is what runs the program, if it is known: a module
    is told from its file by that.

    DispatchvizError if the program is not there to be run, or is another one by now.
    """
    header = trace.header
    kind, program = _program(trace, run_arguments)
    if header.remarks:
        raise DispatchvizError(f"the trace has only a part of the run ({header.remarks[0]}): nothing to compare with")
    cuda = "emulated" if header.cuda.startswith("emulated") else "cupy"
    hashes = len(trace.steps_of(ev.ResultHashed)) > 0
    return ChangedRequest(kind, program, header.arguments, (change.text,), cuda, hashes, save)


def _program(trace: Trace, run_arguments: Sequence[str]) -> tuple[Literal["file", "code", "module"], str]:
    name, text = trace.header.program, trace.header.sources.get(trace.header.program, "")
    if name == STDIN:
        raise DispatchvizError("the program came from standard input: there is no file that could be run again")
    if name == STRING:
        return "code", text
    file = located(name)
    if not os.path.isfile(file):
        raise DispatchvizError(f"there is no file {name} here that could be run again")
    with open(file, encoding="utf-8", errors="surrogateescape", newline=None) as stream:
        now = stream.read()
    if now.splitlines() != text.splitlines():
        raise DispatchvizError(f"{name} is not what it was when it was recorded: run it again first")
    if "-m" in run_arguments[:-1]:
        return "module", run_arguments[run_arguments.index("-m") + 1]
    return "file", name


STDIN, STRING = "<stdin>", "<string>"
"""What Python calls programs that have no file."""

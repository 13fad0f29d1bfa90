"""The request to a process that runs a changed program, and the check whether a trace's program can be run."""

from __future__ import annotations

import json
import os
import tokenize
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import located


class ChangedRequest(msgspec.Struct, frozen=True):
    """A changed run, recorded in the same way as the trace that it is compared with."""

    kind: Literal["file", "code", "module"]
    program: str
    """The file, the text, or the module's name."""
    arguments: tuple[str, ...]
    changes: tuple[str, ...]
    cuda: str
    only: tuple[str, ...]
    hashes: bool
    values: bool | None
    """True to record the numbers of small tensors. None: up to the limit."""
    save: str
    """The file for the trace."""
    engine: Literal["model", "torch"] = "model"
    """The engine, that of the trace."""
    text: str = ""
    """The part of the file that runs, such as the program of a lesson; empty if the whole file runs."""

    def encoded(self) -> str:
        """Return the request as text. Arguments that are not valid UTF-8 are kept."""
        return json.dumps(msgspec.to_builtins(self))

    @classmethod
    def decoded(cls, text: str) -> ChangedRequest:
        """Return the request from its text."""
        return msgspec.convert(json.loads(text), cls)


def changed_request(trace: Trace, change: Change, save: str, run_arguments: Sequence[str] = ()) -> ChangedRequest:
    """Return the request to run a trace's program with a change. ``run_arguments`` are the arguments that run the
    program, if they are known: they distinguish a module from its file.

    DispatchvizError if the program is not there to be run, or is another one by now.
    """
    header = trace.header
    if is_live(header):
        _check_release(header)
    kind, program, text = _program(trace, run_arguments)
    if header.remarks:
        raise DispatchvizError(
            f"the trace has only a part of the run ({header.remarks[0]}), so there is nothing to compare with"
        )
    return ChangedRequest(
        kind,
        program,
        header.arguments,
        (change.text,),
        cuda="auto" if is_live(header) else _cuda_of(header.cuda),
        only=header.only,
        hashes=len(trace.steps_of(ev.ResultHashed)) > 0,
        values=_values_of(trace),
        save=save,
        engine="torch" if is_live(header) else "model",
        text=text,
    )


def _check_release(header: Header) -> None:
    """Raise DispatchvizError unless the PyTorch of a recording is installed here. It is not imported."""
    try:
        here = version("torch")
    except PackageNotFoundError:
        here = ""
    if here.partition("+")[0] != header.pytorch.partition("+")[0]:
        found = f"PyTorch {here} is installed here" if here else "no PyTorch is installed here"
        raise DispatchvizError(f"the changed program would run on PyTorch {header.pytorch} again, but {found}")


def _values_of(trace: Trace) -> bool | None:
    """Return None if the trace reached its limit of numbers, and otherwise whether it recorded numbers."""
    return None if end_of_numbers(trace) is not None else len(trace.steps_of(ev.NumbersRecorded)) > 0


def _cuda_of(text: str) -> str:
    """Return the option that results in a header's text about CUDA."""
    return next((choice for choice in ("emulated", "none") if text.startswith(choice)), "cupy")


def _program(trace: Trace, run_arguments: Sequence[str]) -> tuple[Literal["file", "code", "module"], str, str]:
    """Return how the program is run, what is run, and the part of its text that runs if the file has more."""
    name, text = trace.header.program, trace.header.sources.get(trace.header.program, "")
    if name == STDIN:
        raise DispatchvizError("the program came from standard input: there is no file to run again")
    if name == STRING:
        return "code", text, ""
    file = located(name)
    if not os.path.isfile(file):
        raise DispatchvizError(f"there is no file {name} here to run again")
    own, lines = _text(file).splitlines(), text.splitlines()
    if not _is_left(lines, own):
        raise DispatchvizError(f"{name} has changed since it was recorded: run it again first")
    module = _module(run_arguments, len(trace.header.arguments))
    return ("module", module, "") if module else ("file", name, "" if lines == own else text)


def _is_left(lines: Sequence[str], of: Sequence[str]) -> bool:
    """Return whether lines are those of a file with some replaced by blank lines, and none missing at the end."""
    return len(lines) <= len(of) and all(line in ("", other) for line, other in zip(lines, of, strict=False))


def _text(file: str) -> str:
    """Return the text of a file as Python reads it; empty if there is none."""
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def _module(run_arguments: Sequence[str], own: int) -> str:
    """Return the name after ``-m``, before ``own`` arguments of the program itself; empty if there is none."""
    option, *name = run_arguments[: len(run_arguments) - own][-2:] or [""]
    return name[0] if option == "-m" and name else ""


STDIN, STRING = "<stdin>", "<string>"
"""The names that Python gives to programs without a file."""

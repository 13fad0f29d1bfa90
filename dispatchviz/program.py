"""Runs a user's script on the model and records it: the program cannot notice that it is not PyTorch that it imports,
nor that its lines, its variables and its output are recorded.

Not here: how lines are announced (``instrumented_source.py``), what ``import torch`` means (``import_hook.py``),
commands (``cli``).
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TextIO

from dispatchviz.core.seam import recorder
from dispatchviz.errors import DispatchvizError
from dispatchviz.import_hook import modules_forgotten, torch_is_the_model
from dispatchviz.instrumented_source import compile_instrumented
from dispatchviz.process_state import clean_process_state
from dispatchviz.recording import ProgramRecorder, Recording
from dispatchviz.trace import Trace


@dataclass(frozen=True)
class Outcome:
    """The result of a run: trace, exit status, error."""

    trace: Trace
    status: int
    """As the program would have ended on its own: 0, what it gave to ``sys.exit``, 1 if it raised, 130 at Ctrl+C."""
    error: BaseException | None = None
    """What left the program, if anything did."""
    location: tuple[str, int] = ("", 0)
    """The user's file and line that it came from; line 0 if there is none."""

    @property
    def error_message(self) -> str:
        """The error in one line; empty if there is none."""
        if self.error is None:
            return ""
        file, line = self.location
        where = f"{file}, line {line}" if line else self.trace.header.program
        if isinstance(self.error, KeyboardInterrupt):
            return f"{where}: interrupted"
        message = next(iter(str(self.error).splitlines()), "")
        return f"{where}: {type(self.error).__name__}{message and ': '}{message}"


STANDARD_INPUT = "-"
"""Instead of a script's name: its text is given, as ``python -`` reads it."""


def run(script: str, args: Sequence[str] = (), output: TextIO | None = None, stdin_source: bytes = b"") -> Outcome:
    """Runs a Python file as ``python script args`` would, on the model, and records it.

    What it prints goes to ``output`` (by default to where it would have gone) and into the trace. An exception that
    leaves it, Ctrl+C included, ends the trace and is in the result. ``-`` as the script means the program
    ``stdin_source``.
    Raises DispatchvizError if the file cannot be read or is not Python.
    """
    text = _read(script, stdin_source)
    watcher = ProgramRecorder()
    watcher.base = id(sys._getframe()), sys._getframe().f_code
    path, shown = _names(script)
    watcher.announced[path] = shown
    watcher.sources[shown] = text
    trace = Recording(shown, watcher, args)
    code = _compile(text, path, shown, watcher)
    importlib.import_module("dispatchviz.torch")  # making the operators is no part of the program
    try:
        with clean_process_state(), _as_main_program(path, [script, *args]) as space, _recorded(watcher, output):
            exec(code, space)
        return Outcome(trace, 0)
    except SystemExit as error:
        return Outcome(trace, _exit_status(error))
    except BaseException as error:
        location = watcher.raised(error)
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        return Outcome(trace, status, error.with_traceback(None), location)
    finally:
        recorder.stop(watcher)
        trace.finish()


def _names(script: str) -> tuple[str, str]:
    """The name of a script in its code object, and in traces."""
    if script == STANDARD_INPUT:
        return STDIN, STDIN
    return os.path.abspath(script), script.replace(os.sep, "/")


STDIN = "<stdin>"
"""What Python calls a program that has no file."""

INTERRUPTED = 130
"""The exit status of a program that Ctrl+C ended: 128 and the number of SIGINT."""


def _read(script: str, stdin_source: bytes) -> str:
    try:
        raw = stdin_source if script == STANDARD_INPUT else Path(script).read_bytes()
    except OSError as error:
        raise DispatchvizError(f"cannot read {script}: {error.strerror}") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return io.TextIOWrapper(io.BytesIO(raw), encoding).read()
    except (SyntaxError, UnicodeDecodeError):
        raise DispatchvizError(f"{script} is not a Python program: it is not text in its encoding") from None


def _compile(text: str, path: str, shown: str, watcher: ProgramRecorder) -> CodeType:
    try:
        return compile_instrumented(text, path, watcher)
    except SyntaxError as error:
        where = f"{shown}, line {error.lineno}" if error.lineno else f"{shown} is not a Python program"
        raise DispatchvizError(f"{where}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:  # older Pythons raise this for a NUL
        raise DispatchvizError(f"{shown} is not a Python program: {error}") from None


@contextmanager
def _as_main_program(path: str, argv: list[str]) -> Iterator[dict[str, Any]]:
    """The interpreter as under ``python path``; yields the script's namespace."""
    module = ModuleType("__main__")
    vars(module).update(__builtins__=__builtins__)
    if path != STDIN:
        vars(module).update(__file__=path, __loader__=SourceFileLoader("__main__", path), __cached__=None)
    folder = os.path.dirname(path if path != STDIN else os.path.abspath(path))
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    with modules_forgotten(folder + os.sep), torch_is_the_model():
        sys.argv, sys.path[0:1], sys.modules["__main__"] = argv, [folder], module
        try:
            yield vars(module)
        finally:
            sys.argv, sys.path[:], sys.modules["__main__"] = before


@contextmanager
def _recorded(watcher: ProgramRecorder, output: TextIO | None) -> Iterator[None]:
    """Inside the block the recorder is active, and ``sys.stdout`` is recorded."""
    with redirect_stdout(_RecordedOutput(output or sys.stdout, watcher)):
        recorder.start(watcher)
        try:
            yield
        finally:
            watcher.all_written()
            recorder.stop(watcher)  # what puts the machine back as it was is no part of the program


class _RecordedOutput(io.TextIOBase):
    """Standard output, passed on and recorded."""

    def __init__(self, output: TextIO, watcher: ProgramRecorder) -> None:
        self._output = output
        self._watcher = watcher

    def write(self, text: str, /) -> int:
        self._watcher.wrote(text)
        return self._output.write(text)

    def flush(self) -> None:
        self._output.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._output.isatty()

    def fileno(self) -> int:
        return self._output.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


def _exit_status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1

"""Running and recording a user's script, on the model or an installed PyTorch. The program cannot notice that its
lines, variables and output are recorded, nor, on the model, that its ``torch`` is not PyTorch.

Not here: how a program is found (``program_source.py``), how lines are announced (``instrumented_source.py``), the
meaning of ``import torch`` (``import_hook.py``), how its process ends, writes and forks (``process``), commands
(``cli``).
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, TextIO

from msgspec import Struct

from dispatchviz.core.record.event_filter import Only
from dispatchviz.core.record.recorders.recorder_base import NOTE_LENGTH
from dispatchviz.core.seam import recorder
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.call_sites import count_as_users
from dispatchviz.running.engines import MODEL, Engine
from dispatchviz.running.import_hook import modules_forgotten
from dispatchviz.running.instrumented_source import ALL, Changed, compile_instrumented
from dispatchviz.running.process.children import Family, in_family
from dispatchviz.running.process.early_end import Keeper, NoKeeper, default_signals_again, die_of, finished_first
from dispatchviz.running.process.interpreter_state import put_back_afterwards
from dispatchviz.running.process.program_end import End, clear_main, run_to_its_end
from dispatchviz.running.process.progress import LIMIT_HINT, progress_of
from dispatchviz.running.process.python_commands import Word
from dispatchviz.running.process.standard_output import reporting_writes
from dispatchviz.running.process.tracebacks import message_of, traceback_of
from dispatchviz.running.process.warnings_shown import reporting_warnings
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.program_source import (
    STDIN,
    STRING,
    Script,
    Source,
    Spawned,
    lines_in_tracebacks,
    read_source,
    working_folder,
)
from dispatchviz.running.recorded_part import RecordedPart
from dispatchviz.running.recording import Recording
from dispatchviz.running.relatives import Relatives
from dispatchviz.trace import Trace


class Outcome(Struct, frozen=True):
    """The result of a run: trace, exit status, error."""

    trace: Trace
    status: int
    """The exit status that the program would have had on its own: 0, the argument of ``sys.exit``, 1 for an error, 130
    for Ctrl+C.
    """
    error: BaseException | None = None
    """The error that left the program, if any."""
    location: tuple[str, int] = ("", 0)
    """The user's file and line where it was raised; line 0 if there is none."""
    signal: int = 0
    """The signal by which the program's process would have ended."""

    @property
    def error_message(self) -> str:
        """The error in one line; empty if there is none."""
        if self.error is None:
            return ""
        file, line = self.location
        where = f"{file}, line {line}" if line else self.trace.header.program
        if isinstance(self.error, KeyboardInterrupt):
            return f"{where}: interrupted"
        message = next(iter(message_of(self.error).splitlines()), "")
        return f"{where}: {type(self.error).__name__}{message and ': '}{message}"


Keeping = Callable[[Recording], Keeper]
"""A function that makes the keeper of a recording, for the case that the process ends early."""


class _Program(Struct, frozen=True):
    """A program before it runs."""

    source: Source
    argv: list[str]
    code: CodeType | None
    """The program's code. None for a module that runs unchanged."""
    output: TextIO | None
    """The stream for its output, if that is not standard output."""
    shows_errors: bool
    engine: Engine
    relatives: Relatives | None
    """The processes that the program starts, if they are recorded."""
    spawned: str = ""
    """The text of ``-c`` with which ``multiprocessing`` begins the process, which later runs the program's code."""

    def begin(self, space: dict[str, Any]) -> None:
        """Run the program in its namespace."""
        if self.spawned:
            with _main_file_compiled(self.source.path, self.code):
                exec(compile(self.spawned, STRING, "exec"), space)
        elif self.source.module:
            run_module(self.source.module, self.source.path, self.code)
        elif self.code is not None:
            exec(self.code, space)


def run(
    script: Script | Spawned,
    args: Sequence[str] = (),
    output: TextIO | None = None,
    stdin_source: bytes = b"",
    *,
    shows_errors: bool = False,
    keeping: Keeping | None = None,
    only: Only | None = None,
    hashes: bool = False,
    values: int = 0,
    most_values: int = 0,
    rewritten: Callable[[str], str] = str,
    changed: Changed = lambda tree: tree,
    engine: Engine = MODEL,
    relatives: Relatives | None = None,
) -> Outcome:
    """Run a program as ``python script args`` would, including ``-c`` and ``-m``, and record it.

    Its output goes to ``output`` (by default to the usual place) and into the trace. An exception that leaves it,
    including Ctrl+C, ends the trace and is in the result; ``shows_errors`` prints it as Python would. ``-`` as the
    script means the program ``stdin_source``. ``only`` selects the events that are kept. ``hashes`` adds hashes of
    results. ``values`` adds the numbers of tensors with at most this number of elements, at most ``most_values`` times
    (0: no limit). ``rewritten`` makes the text to run from the file's text. ``changed`` makes the syntax tree to run
    from the file's own; the trace keeps the file's text. A child that the program forks does not return from here, but
    ends. ``relatives`` records the processes that the program starts. Raise DispatchvizError if the file cannot be read
    or is not Python.
    """
    source = read_source(script, stdin_source)
    if source.text is not None:
        source = source._replace(text=rewritten(source.text))
    watcher = engine.recorder()
    watcher.hashes, watcher.numbers, watcher.most_numbers = hashes, values, most_values
    watcher.base = id(sys._getframe()), sys._getframe().f_code
    about = engine.header if relatives is None else relatives.about(engine.header)
    trace = Recording(source.shown, watcher, args, only, about)
    part = ALL if only is None else watcher.record_part(only, source)
    code = _compiled(source, watcher, changed, part)
    engine.prepare()
    keeper = keeping(trace) if keeping is not None else NoKeeper()
    spawned = script.text if isinstance(script, Spawned) else ""
    program = _Program(source, [source.argument, *args], code, output, shows_errors, engine, relatives, spawned)
    try:
        end, location = _run_recorded(program, watcher, trace, keeper)
    finally:
        recorder.stop(watcher)
        with finished_first(keeper):
            trace.finish()
    error = end.error.with_traceback(None) if end.error is not None else None
    return Outcome(trace, end.status, error, location, end.signal)


def run_untraced(script: Script, args: Sequence[str] = (), stdin_source: bytes = b"") -> End:
    """Run a program without a recording. Nothing is compiled in, and its output is the same."""
    source = read_source(script, stdin_source)
    code = _compiled(source, None, lambda tree: tree)
    MODEL.prepare()
    family = Family(lambda: None, lambda number: None)
    program = _Program(source, [source.argument, *args], code, None, True, MODEL, None)
    with (
        clean_process_state(),
        put_back_afterwards(),
        _as_main_program(program) as space,
        in_family(family),
        MODEL.children(),
    ):
        end = run_to_its_end(program.begin, space, shows_errors=True)
        clear_main(space)
    _end_child(family, end)
    return end


def _run_recorded(
    program: _Program, watcher: ProgramRecorder, trace: Recording, keeper: Keeper
) -> tuple[End, tuple[str, int]]:
    """Return the end of a program, and the place where the error that left it was raised."""
    engine = program.engine
    with engine.process_state(), put_back_afterwards(), _as_main_program(program) as space:
        if program.output is not None:
            sys.stdout = program.output
        with reporting_writes(sys.stdout, watcher.wrote) as stop_reporting, reporting_warnings(watcher.warning_shown):
            family = _family(program, watcher, trace, keeper, stop_reporting)
            with (
                in_family(family),
                engine.children(),
                finished_first(keeper),
                progress_of(lambda: _count(watcher), _hint(watcher)),
                engine.watching(watcher),
                _recorded(watcher),
            ):
                end = run_to_its_end(lambda space: _begin(program, space, watcher), space, program.shows_errors)
                location = ("", 0) if end.error is None else watcher.raised(end.error, traceback_of(end.error))
        clear_main(space)
    if family.is_child and family.records_forks:
        recorder.stop(watcher)
        keeper.finish()
    _end_child(family, end)
    return end, location


def _begin(program: _Program, space: dict[str, Any], watcher: ProgramRecorder) -> None:
    """Run the program. Objects that the traceback of its error keeps are freed when it is over, which does not count as
    part of it.
    """
    try:
        program.begin(space)
    except BaseException as error:
        watcher.correct(error)
        watcher.end()
        raise


def _hint(watcher: ProgramRecorder) -> str:
    """Return a hint on how to run the rest of a long program at full speed, unless this was requested."""
    return LIMIT_HINT if watcher.stream is not None and not watcher.stream.limit.chosen else ""


def _count(watcher: ProgramRecorder) -> int:
    """Return about how many events are recorded, without reading a note."""
    return len(watcher.builder.events) + len(watcher.notes) // NOTE_LENGTH


def _family(
    program: _Program,
    watcher: ProgramRecorder,
    trace: Recording,
    keeper: Keeper,
    stop_reporting: Callable[[], None],
) -> Family:
    relatives = program.relatives
    if relatives is not None:

        def begins() -> None:
            stop_reporting()
            relatives.begin_in_child(watcher, trace)

        def instead(words: Sequence[Word], executables: Sequence[Word]) -> tuple[list[str], list[bytes]] | None:
            return relatives.command(words, executables, program.source)

        return trace.family(begins, instead, ranks=True)

    def in_child() -> None:
        recorder.stop(watcher)
        keeper.give_up()
        stop_reporting()
        default_signals_again()

    return trace.family(in_child)


def _end_child(family: Family, end: End) -> None:
    """End a forked child where its program ends. The rest belongs to the parent."""
    if family.is_child:
        if end.signal:
            die_of(end.signal)
        raise SystemExit(end.status)


def _compiled(
    source: Source, watcher: ProgramRecorder | None, changed: Changed, part: RecordedPart = ALL
) -> CodeType | None:
    """Return the program's code, which reports to the watcher, if there is one. Return None for a module that Python
    itself must load.
    """
    if source.text is None:
        return None
    code = _compile(source.text, source.path, source.shown, watcher, changed, part)
    if watcher is not None:
        watcher.announced[source.path] = source.shown
        watcher.sources[source.shown] = source.text
    count_as_users(code)
    return code


def _compile(
    text: str, path: str, shown: str, watcher: ProgramRecorder | None, changed: Changed, part: RecordedPart
) -> CodeType:
    try:
        if watcher is None:
            return compile(text, path, "exec", dont_inherit=True)
        return compile_instrumented(text, path, watcher, changed, part)
    except SyntaxError as error:
        where = f"{shown}, line {error.lineno}" if error.lineno else f"{shown} is not a Python program"
        raise DispatchvizError(f"{where}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:  # older Pythons raise this for a NUL
        raise DispatchvizError(f"{shown} is not a Python program: {error}") from None
    except (RecursionError, MemoryError):  # the parser raises the last one at its limits
        raise DispatchvizError(f"{shown} is nested too deeply for Python") from None


@contextmanager
def _as_main_program(program: _Program) -> Iterator[dict[str, Any]]:
    """Prepare the interpreter as under ``python path``, and yield the script's namespace."""
    source = program.source
    module = ModuleType("__main__")
    vars(module).update(__builtins__=builtins, __loader__=BuiltinImporter)
    if sys.version_info < (3, 14):
        vars(module).update(__annotations__={})
    if not source.module and source.path not in (STDIN, STRING) and not program.spawned:
        vars(module).update(__file__=source.path, __loader__=SourceFileLoader("__main__", source.path), __cached__=None)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    with (
        modules_forgotten((source.folder or working_folder()) + os.sep),
        program.engine.imports(),
        lines_in_tracebacks(source),
    ):
        sys.argv, sys.path[0:1], sys.modules["__main__"] = program.argv, [source.folder], module
        try:
            yield vars(module)
        finally:
            sys.argv, sys.path[:], sys.modules["__main__"] = before


@contextmanager
def _recorded(watcher: ProgramRecorder) -> Iterator[None]:
    """Activate the recorder inside the block."""
    recorder.start(watcher)
    try:
        yield
    finally:
        watcher.all_written()
        if watcher in (recorder.listening, recorder.suspended):
            watcher.settle()  # notes about cells are valid only while the program's libraries exist
        recorder.stop(watcher)  # restoring the machine is not part of the program


@contextmanager
def _main_file_compiled(path: str, code: CodeType | None) -> Iterator[None]:
    """Let ``runpy``, with which ``multiprocessing`` imports the program's file, use its compiled code in the block."""
    space = vars(runpy)

    def compiled(text: Any, file: Any, *rest: Any, **options: Any) -> Any:
        return code if code is not None and file == path else compile(text, file, *rest, **options)

    space["compile"] = compiled
    try:
        yield
    finally:
        space.pop("compile", None)


def run_module(name: str, path: str, code: CodeType | None) -> None:
    """Run a module in ``sys.modules["__main__"]``. If it is found at ``path``, ``code`` replaces its own."""
    python: Any = runpy
    own_details = python._get_module_details

    def details(*arguments: Any) -> tuple[str, Any, CodeType]:
        python._get_module_details = own_details
        found, spec, own = own_details(*arguments)
        return found, spec, code if code is not None and spec.origin == path else own

    python._get_module_details = details
    try:
        python._run_module_as_main(name)
    finally:
        python._get_module_details = own_details

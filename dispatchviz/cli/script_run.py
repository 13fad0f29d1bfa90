"""Shared code of commands that run a program: choose its cuda, save its trace, report how it ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from dispatchviz.cli.checked_before_run import check_only
from dispatchviz.cli.input_source import standard_input
from dispatchviz.cli.kept_traces import StreamKeeper, kept_in, streamed
from dispatchviz.cli.recorded_values import recorded_values
from dispatchviz.cli.trace_folders import places
from dispatchviz.core.device.array_library import choose_cuda
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.core.record.recording_limit import read_limit
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import failure
from dispatchviz.explain.diagnosis.mistakes import mistakes
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.outputs.trace_files import save_trace
from dispatchviz.running.engine_choice.choice import ON_MODEL, Choice
from dispatchviz.running.engines import Engine, engine_named
from dispatchviz.running.instrumented_source import Changed
from dispatchviz.running.process.early_end import Keeper, NoKeeper, finished_first
from dispatchviz.running.process.standard_output import on_stderr
from dispatchviz.running.program import Outcome, run, run_untraced
from dispatchviz.running.program_source import STANDARD_INPUT, Script
from dispatchviz.running.recording import Recording
from dispatchviz.trace import Trace

if TYPE_CHECKING:
    from dispatchviz.cli.family_runs import Family


def run_script(
    script: Script,
    args: Sequence[str],
    cuda: str,
    save: str | None,
    to_stderr: bool = False,
    only: Sequence[str] = (),
    limit: str | None = None,
    unbuffered: bool = False,
    hashes: bool = False,
    values: bool | None = None,
    rewritten: Callable[[str], str] = str,
    changed: Changed = lambda tree: tree,
    engine: Choice = ON_MODEL,
    family: Family | None = None,
) -> Outcome:
    """Run a program and write its trace to a file, which is kept if ``save`` names it or the program fails.

    ``to_stderr`` sends the program's output to stderr. ``only`` selects events, ``limit`` bounds the recording.
    ``unbuffered`` writes each step before the program goes on. ``hashes`` adds hashes of results. ``values`` records
    the numbers of small tensors without a limit if True, none if False (``recorded_values.py``). ``rewritten`` changes
    the script's text, ``changed`` its syntax tree. ``engine`` runs the program. ``family`` records the processes that
    it starts, too.

    Raise DispatchvizError for errors that the user can fix.
    """
    selected, at_most = read_only(only) if only else None, read_limit(limit)
    if selected is not None:
        check_only(selected, script, engine.engine)
    chosen = _engine(engine, cuda)
    recorded = recorded_values(values)
    given = standard_input() if script == STANDARD_INPUT else b""
    file = save and os.path.abspath(save)  # the program may change its folder
    keepers: list[StreamKeeper] = []

    def keeping(trace: Recording) -> Keeper:
        keeper = streamed(trace, file, at_most, unbuffered) if family is None else family.keeper(trace)
        keepers.extend([keeper] if keeper is not None else [])
        return keeper or NoKeeper()

    with on_stderr() if to_stderr else nullcontext():
        outcome = run(
            script,
            args,
            None,
            given,
            shows_errors=True,
            keeping=keeping,
            only=selected,
            hashes=hashes,
            **recorded._asdict(),
            rewritten=rewritten,
            changed=changed,
            engine=chosen,
            relatives=None if family is None else family.relatives,
        )
    for keeper in keepers:
        _conclude_file(keeper, outcome, save if family is None else family.base)
    return outcome


def _engine(choice: Choice, cuda: str) -> Engine:
    """Return the engine for the program. Raise DispatchvizError if there is none, or for a choice that only the model
    has.
    """
    if choice.engine == "model":
        choose_cuda(cuda)
    elif cuda != "auto":
        raise DispatchvizError("--cuda works only on the model: leave it out with --engine torch")
    return engine_named(*choice)


def _conclude_file(keeper: StreamKeeper, outcome: Outcome, save: str | None) -> None:
    """Keep or delete the trace file of a program that has ended, and report if the recording is incomplete."""
    for remark in outcome.trace.header.remarks:
        if remark != keeper.stopped:
            complain(remark)
    where = ""
    if save:
        with finished_first(keeper):
            where = f", what was recorded is in {keeper.keep()}"
    else:
        keeper.discard()
    if keeper.stopped:
        complain(f"{keeper.stopped}; the program ran on{where}")


def run_script_untraced(script: Script, args: Sequence[str], cuda: str) -> int:
    """Run a program without a recording; return the exit status. Raise EndedBySignal if a signal ended it."""
    choose_cuda(cuda)
    end = run_untraced(script, args, standard_input() if script == STANDARD_INPUT else b"")
    if end.signal:
        raise EndedBySignal(end.signal)
    return end.status


@contextmanager
def kept(outcome: Outcome, saved: str | None) -> Iterator[None]:
    """Keep the program's trace if the block fails or is interrupted, and name its file in the error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted {_trace_place(outcome.trace, saved)}") from None
    except EndedBySignal:
        with suppress(OSError):  # the terminal may be gone
            complain(f"ended by a signal {_trace_place(outcome.trace, saved)}")
        raise
    except (OSError, DispatchvizError) as error:
        kept_error = DispatchvizError(f"{error} {_trace_place(outcome.trace, saved)}")
        kept_error.status = getattr(error, "status", DispatchvizError.status)
        raise kept_error from None


NOT_ALL = 3
"""The exit status, with ``--strict``, of a program that ended with 0 but was not recorded to its end."""


def conclude(outcome: Outcome, saved: str | None, strict: bool = False, has_log: bool = False) -> int:
    """Print the program's error, its diagnosis and where the trace is; return the exit status.

    ``has_log`` leaves out the diagnosis, which a printed log already contains. Raise EndedBySignal if a signal ended
    the program.
    """
    if not outcome.signal:
        _tell_why(outcome.trace, has_log)
    if outcome.error is not None:
        complain(f"{outcome.error_message} {_trace_place(outcome.trace, saved)}")
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return NOT_ALL if strict and outcome.status == 0 and outcome.trace.notice else outcome.status


def _tell_why(trace: Trace, has_log: bool) -> None:
    """Print on stderr why the program raised, unless a log has shown it, and which silent mistakes it makes."""
    found = (*_error(trace, has_log), *mistakes(trace).values())
    if found:
        from dispatchviz.views.cards.diagnosis_text import parts

        for name, text in (part for each in found for part in parts(each)):
            if name != "PyTorch says":  # the traceback or the warning contains it
                complain(f"{name}: {text}")


def _error(trace: Trace, has_log: bool) -> list[Diagnosis]:
    """Return the diagnosis of the error that ended the program, if it says more than the traceback, or than a log."""
    if failure(trace) is None:
        return []
    from dispatchviz.cli.chosen_engine import with_command
    from dispatchviz.explain.diagnosis.diagnose import diagnosis_of_error  # loads all rules, and few programs raise

    error = diagnosis_of_error(trace)
    if error is None or not error.adds_information:
        return []
    with_typed = with_command(error)  # a log does not know the command
    return [] if has_log and with_typed is error else [with_typed]


def _trace_place(trace: Trace, saved: str | None) -> str:
    file = saved or kept_trace(trace)
    return kept_in(file) if file else "(the trace is lost: no cache folder can be written to; use --save FILE)"


def kept_trace(trace: Trace) -> str:
    """Save the trace of a program over the last one of that program, and return the file; empty if it cannot be
    written.
    """
    for path in places(trace.header.program):
        with suppress(OSError, DispatchvizError):
            save_trace(trace, path)
            return str(path)
    return ""

"""``check``: run a program on PyTorch and on the model, compare both runs and report the result."""

from __future__ import annotations

import datetime
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from dispatchviz.cli.check_json import check_json
from dispatchviz.cli.checked_request import CheckedRequest, snapshot_beside
from dispatchviz.cli.input_source import trace_in
from dispatchviz.cli.lookup import print_json
from dispatchviz.core.record import events as ev
from dispatchviz.core.record import trace_file
from dispatchviz.core.record.trace_file import Trace as CoreTrace
from dispatchviz.core.record.unfinished_files import unfinished_files
from dispatchviz.explain.comparison.checked import (
    OF_THE_MODEL,
    Checked,
    checked_traces,
    keys_called,
    line_of_the_end,
    operators_that_differ,
    verdict,
)
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.seen_by_both import SeenByBoth
from dispatchviz.foundation.child_processes import ended_together, running
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.shipped_examples import alternatives, located
from dispatchviz.outputs.trace_files import save_trace
from dispatchviz.running.engine_choice.requested_engine import EngineName
from dispatchviz.running.process.progress import doing
from dispatchviz.running.program_source import STANDARD_INPUT, Code, Module, Script, name_of, typed
from dispatchviz.trace import Trace
from dispatchviz.tui.terminal.support import can_run
from dispatchviz.views.cards.check_text import check_lines, same_until
from dispatchviz.views.text.console import terminal

if TYPE_CHECKING:
    from dispatchviz.tui.comparison.two_runs import Side

DIFFERENT = 1
"""The exit status if PyTorch did something else; ``diff`` uses the same."""
RUNNER = "dispatchviz.cli.checked_child"
"""The module that both processes run."""
ALIKE = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
"""Environment variables that the user can override: a set has the same order in both runs, and PyTorch's kernels run on
one thread, as the model's do.
"""

PHRASES = "in the model", "in PyTorch"


def checked(
    source: Script, args: Sequence[str], cuda: str, save: str | None, every: bool, plain: bool, as_json: bool = False
) -> int:
    """Run both, show where they differ, and return the exit status."""
    if source == STANDARD_INPUT:
        raise DispatchvizError("check runs a program twice, but - can be read only once")
    if isinstance(source, str) and os.path.exists(located(source)) and trace_in(source) is not None:
        raise DispatchvizError(f"check runs a SCRIPT on the model and on PyTorch, but {source} is a saved trace")
    try:
        found = two_runs(source, args, cuda, save)
    except _AlreadySaidError as error:
        return error.status
    if save:
        header = msgspec.structs.replace(found.model.header, checked=_remark(found))
        save_trace(Trace(header, found.model.events, columns=found.model.columns), save)
    if as_json:
        print_json(check_json(found, PHRASES))
    elif not found.same and not plain and can_run() is None:
        _open(found, ("check", *(("--cuda", cuda) if cuda != "auto" else ()), *typed(source), *args))
    else:
        console = terminal()
        console.print(check_lines(found, PHRASES, console, every))
    return 0 if found.same else DIFFERENT


class _AlreadySaidError(DispatchvizError):
    """An error that is already on the screen: the process whose errors the user sees left no trace and said why."""


def two_runs(source: Script, args: Sequence[str], cuda: str = "auto", save: str | None = None) -> Checked:
    """Run a program on PyTorch and on the model, and compare both. Raise DispatchvizError if that is impossible.

    If a signal ends the run on the model, its partial trace goes to ``save``.
    """
    with tempfile.TemporaryDirectory(prefix="dispatchviz-", ignore_cleanup_errors=True) as folder:
        torch = _run(_request("torch", source, args, "auto", folder), shows=True)
        check_cuda(torch)
        with doing(f"running {name_of(source)} on the model"):
            request = _request("model", source, args, cuda, folder)
            with _kept_at_a_signal(request.save, save):
                model = _run(request, shows=False)
        check_cuda(torch, model)
        with doing("comparing both runs"):
            found = _with_changes(checked_traces(model, torch), snapshot_beside(str(Path(folder) / "torch.dvtrace")))
        check_model_has_all(found)
        return found


def _with_changes(found: Checked, snapshot: Path) -> Checked:
    """Return ``found`` with the registrations that differ in the installed release, if it is another release."""
    if found.same or not snapshot.exists():
        return found
    from dispatchviz.live.release_changes import release_changes
    from dispatchviz.live.snapshot import read_snapshot

    changes = release_changes(read_snapshot(snapshot), operators_that_differ(found), keys_called(found))
    return replace(found, release_changes=tuple(changes))


@contextmanager
def _kept_at_a_signal(recorded: str, save: str | None) -> Iterator[None]:
    try:
        yield
    except (EndedBySignal, KeyboardInterrupt):
        file = Path(recorded)
        found = [one for one in (file, *unfinished_files(file.parent, file.stem)) if one.exists()]
        if save and found:  # SIGQUIT leaves the unfinished one
            save_trace(Trace.load(found[0]), save)
        raise


def _request(engine: EngineName, source: Script, args: Sequence[str], cuda: str, folder: str) -> CheckedRequest:
    kind: Literal["file", "code", "module"] = "file"
    if isinstance(source, (Code, Module)):
        kind = "code" if isinstance(source, Code) else "module"
    elif not os.path.exists(located(source)):
        raise DispatchvizError(f"there is no file {source}{alternatives(source)}")
    return CheckedRequest(engine, kind, _text(source), tuple(args), cuda, str(Path(folder) / f"{engine}.dvtrace"))


def _text(source: Script) -> str:
    return source if isinstance(source, str) else source.text if isinstance(source, Code) else source.name


def _run(request: CheckedRequest, shows: bool) -> Trace:
    """Run the request and return its trace. Only one of the two runs shows the program's output."""
    words = running(RUNNER, [os.fsdecode(msgspec.json.encode(request))])
    stderr: int | None = None if shows else subprocess.PIPE
    sys.stdout.flush()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=sys.__stderr__ if shows else subprocess.DEVNULL,
        stderr=stderr,
        env={**ALIKE, **os.environ},
    )
    with ended_together(process):
        _, errors = process.communicate()
    if not os.path.exists(request.save):
        if shows and process.returncode == _AlreadySaidError.status:
            raise _AlreadySaidError(f"the run on {request.engine} left no trace")
        last = (errors or b"").decode("utf-8", "backslashreplace").strip().splitlines()
        why = last[-1].removeprefix("dispatchviz: ") if last else f"exit status {process.returncode}"
        raise DispatchvizError(why if last else f"the run on {request.engine} left no trace: {why}")
    return Trace.load(request.save)


# -- cuda -------------------------------------------------------------------------------------------------------------

WITHOUT_CUDA = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver")
"""The beginnings of the errors of a PyTorch that cannot use cuda."""


def check_cuda(torch: CoreTrace, model: CoreTrace | None = None) -> None:
    """Raise DispatchvizError if the program uses cuda and PyTorch has none."""
    if torch.header.cuda.startswith(("CUDA", "ROCm")) and model is not None:
        return
    last = torch[len(torch) - 1] if len(torch) else None
    failed = isinstance(last, ev.ProgramRaised) and last.message.startswith(WITHOUT_CUDA)
    if failed or (model is not None and _uses_cuda(model)):
        raise DispatchvizError(
            f"the program uses cuda, but this PyTorch ({torch.header.pytorch}) cannot use it here: nothing to compare"
        )


def _uses_cuda(model: CoreTrace) -> bool:
    made = (model[step] for step in model.steps_of(ev.TensorCreated))
    return any(isinstance(event, ev.TensorCreated) and event.device.startswith("cuda") for event in made)


# -- what the model lacks ---------------------------------------------------------------------------------------------

_NO_NAME = re.compile(r"cannot import name '(\w+)' from 'dispatchviz\.(torch[\w.]*)'.*")
"""Python's message for ``from torch.func import functionalize``."""


def check_model_has_all(found: Checked) -> None:
    """Raise DispatchvizError if the program ended in the model because it needs something that only PyTorch has, and
    both runs were the same up to that line.
    """
    model = found.model
    last = model[len(model) - 1] if len(model) else None
    if not isinstance(last, ev.ProgramRaised):
        return
    message = _NO_NAME.sub(rf"\2.\1 is not in {OF_THE_MODEL} of PyTorch", last.message)
    end = line_of_the_end(found)
    if OF_THE_MODEL in message and end is not None:
        file = "" if last.file == model.header.program else f" of {last.file}"
        lacks = f"the model cannot run this at line {last.line}{file}: {message}"
        before = same_until(found, end)
        raise DispatchvizError(f"nothing to compare: {lacks}" if before is None else f"{lacks}. {before}")


# -- the report -------------------------------------------------------------------------------------------------------


def _remark(found: Checked) -> str:
    """Return the verdict for the header of the model's trace."""
    today = datetime.datetime.now(datetime.UTC).date()
    return f"PyTorch {found.torch.header.pytorch}, {today}: {verdict(found)}"


def _open(found: Checked, words: Sequence[str]) -> None:
    """Open both runs side by side; ``words`` follow ``dispatchviz`` in the command that repeats the check."""
    from dispatchviz.cli import diff_screen
    from dispatchviz.tui.comparison.two_runs import TwoRuns

    comparison = found.comparison
    model = _side("the model", Run(comparison.first, PHRASES[0]), found.model)
    torch = _side(f"PyTorch {found.torch.header.pytorch}", Run(comparison.second, PHRASES[1]), found.torch)
    diff_screen.show([TwoRuns(comparison, (model, torch), command=f"dispatchviz {shlex.join(words)}", by="check")])


def _side(title: str, run: Run, whole: trace_file.Trace) -> Side:
    """Return one side of the screen. The comparison sees only the steps that both engines have; the stepper opens
    all.
    """
    from dispatchviz.tui.comparison.two_runs import Side

    assert isinstance(run.trace, SeenByBoth)
    return Side(title, run, whole=whole, steps=run.trace.steps)

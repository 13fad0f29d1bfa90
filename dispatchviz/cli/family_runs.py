"""The recording of every process that a program starts (``--ranks``): the keeper of each trace, the command line of
each child, and the traces afterwards.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from dispatchviz.cli.input_source import load
from dispatchviz.cli.kept_traces import StreamKeeper
from dispatchviz.cli.recorded_values import recorded_values
from dispatchviz.cli.trace_folders import SUFFIX, ranks_folder
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.core.record.recording_limit import Limit, read_limit
from dispatchviz.core.record.trace_stream import TraceStream
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.call_sites import is_users_file
from dispatchviz.running.engine_choice.choice import Choice
from dispatchviz.running.engines import engine_named
from dispatchviz.running.process.family_files import (
    MAIN,
    FamilyFile,
    Lineage,
    files_of_run,
    is_one_of_several,
    rank_here,
    split,
)
from dispatchviz.running.process.program_end import End
from dispatchviz.running.program import Outcome, run
from dispatchviz.running.program_source import Code, Module, Script, Spawned, name_of
from dispatchviz.running.recording import Recording
from dispatchviz.running.relatives import Relatives
from dispatchviz.trace import Trace

RUNNER = str(Path(__file__).with_name("recorded_child.py"))


class Recorded(msgspec.Struct, frozen=True):
    """The options that all processes of a run have in common."""

    only: tuple[str, ...] = ()
    limit: str | None = None
    unbuffered: bool = False
    hashes: bool = False
    values: bool | None = None


class Child(msgspec.Struct, frozen=True):
    """The facts that the runner of a new Python gets."""

    lineage: Lineage
    recorded: Recorded
    shown: str
    """The name of the program of the first process in traces, and its file."""
    path: str


class FamilyKeeper(StreamKeeper):
    """A keeper that names the file after its process, and says nothing about that of a child."""

    def __init__(self, trace: Recording, relatives: Relatives, limit: Limit, unbuffered: bool) -> None:
        self._relatives, self._limit, self._unbuffered = relatives, limit, unbuffered
        relatives.keeper = self
        super().__init__(trace, self._begin(trace))
        trace.watch_rank(self.rank_met)

    def _begin(self, trace: Recording) -> TraceStream:
        path = self._relatives.file.path()
        try:
            return trace.stream_to(path, self._limit, self._unbuffered)
        except OSError as error:
            raise DispatchvizError(f"cannot write {path}: {error.strerror or error}") from None

    def begin_in_child(self, trace: Recording) -> None:
        """Write the recording of a forked child to a file of its own. Without a file it is not recorded."""
        with suppress(DispatchvizError):
            self._trace, self._stream = trace, self._begin(trace)

    def rank_met(self, rank: int) -> None:
        """Name the file after the rank of this process."""
        file = self._relatives.file
        if file.rank is None:
            file.rank = rank
            self._stream.rename(file.path())

    def finish(self, reason: str = "") -> None:
        """Complete the trace and move it into its place."""
        if self._relatives.file.name == MAIN:
            super().finish(reason)
        elif not self._stream.in_place:
            if not self._stream.complete:
                self._trace.finish_stream(keep=False)
            self.keep()

    def keep(self) -> str:
        """Move the trace into its place, under the name that the process has by now. An empty one is removed."""
        if self._stream.events or self._relatives.file.name == MAIN:
            self._stream.rename(self._relatives.file.path())
            return super().keep()
        self._stream.discard()
        return self._stream.path


class Family:
    """The recordings of a program and of the processes that it starts."""

    def __init__(self, lineage: Lineage, recorded: Recorded) -> None:
        self._recorded = recorded
        self.base = lineage.base
        """The path of the trace of the first process."""
        file = FamilyFile(lineage)
        if not lineage.parent:
            file.remove_last_run()
        self.relatives = Relatives(file, self._runner)
        self.keepers: list[FamilyKeeper] = []

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """Yield each trace, and the part of its file's name that distinguishes the process; empty for the first one."""
        stem, suffix = split(self.base)
        for file in self.files:
            yield file[len(stem) + 1 : -len(suffix)], load(file)

    @property
    def files(self) -> list[str]:
        """The traces of all processes so far."""
        return files_of_run(self.base)

    @property
    def shown(self) -> str:
        """The file to open: the only trace, or a pattern for all of them."""
        stem, suffix = split(self.base)
        return self.base if self.files == [self.base] else f"{stem}.*{suffix[1:]}"

    def remove_launcher(self, trace: Trace) -> None:
        """Remove the trace of the first process if it only launched others, as ``torchrun`` does."""
        others = [file for file in self.files if file != self.base]
        if others and not trace.steps_of(ev.Dispatched) and _is_installed(trace.header.program):
            os.unlink(self.base)

    def _runner(self, lineage: Lineage, shown: str, path: str) -> Sequence[str]:
        return RUNNER, msgspec.json.encode(Child(lineage, self._recorded, shown, path)).decode()

    def keeper(self, trace: Recording) -> FamilyKeeper:
        """Begin to write a recording to a file, and return its keeper."""
        limit = read_limit(self._recorded.limit)
        self.keepers.append(FamilyKeeper(trace, self.relatives, limit, self._recorded.unbuffered))
        return self.keepers[-1]


def _is_installed(program: str) -> bool:
    """Return whether a program belongs to a package, or is a command of this Python's environment."""
    return not is_users_file(program) or os.path.dirname(os.path.abspath(program)) == os.path.dirname(sys.executable)


def run_family(
    source: Script,
    args: Sequence[str],
    save: str | None,
    to_stderr: bool,
    recording: Mapping[str, Any],
    cuda: str = "auto",
) -> tuple[Outcome, Family]:
    """Run a program with ``--ranks``. Return how it ended, and the recordings of all processes.

    Raise DispatchvizError for ``--engine model``.
    """
    from dispatchviz.cli.script_run import run_script

    if click.get_current_context().params.get("engine") == "model":
        raise DispatchvizError("--ranks records an installed PyTorch: leave out --engine model")
    family = Family(Lineage(base_of(name_of(source), save)), Recorded(**recording))
    outcome = run_script(source, args, cuda, family.base, to_stderr, engine=Choice("torch"), family=family, **recording)
    family.remove_launcher(outcome.trace)
    return outcome, family


def saved_by_rank(save: str | None) -> str | None:
    """Return the file to save. If ``torchrun`` started this process, each rank has its own: ``train.rank1.dvtrace``."""
    if save is None or not is_one_of_several() or f"rank{rank_here()}" in os.path.basename(save):
        return save
    file = FamilyFile(Lineage(save))
    file.remove_last_run()
    return file.path()


def base_of(program: str, save: str | None) -> str:
    """Return the path of the trace of the first process: the file to save, or one in a folder of kept traces."""
    if save:
        return os.path.abspath(save)
    folder = ranks_folder(program)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / f"{folder.stem}{SUFFIX}")


def run_child(child: Child, script: Script | Spawned, arguments: Sequence[str]) -> End:
    """Run and record the program of a new Python. Return its end.

    Raise DispatchvizError, before the program runs, if it cannot be read or compiled.
    """
    recorded = child.recorded
    family = Family(child.lineage, recorded)
    outcome = run(
        script,
        arguments,
        shows_errors=True,
        keeping=family.keeper,
        only=read_only(recorded.only) if recorded.only else None,
        hashes=recorded.hashes,
        **recorded_values(recorded.values)._asdict(),
        engine=engine_named("torch"),
        relatives=family.relatives,
    )
    family.keepers[0].keep()
    return End(outcome.status, outcome.error, outcome.signal)


SPAWNED = "from multiprocessing.spawn import spawn_main"


def script_in(words: Sequence[str], child: Child) -> tuple[Script | Spawned, list[str]]:
    """Return the program on the command line of a new Python, and its arguments."""
    kind, *rest = words
    if kind == "-c":
        text, *rest = rest
        return Spawned(text, child.shown, child.path) if text.startswith(SPAWNED) else Code(text), rest
    if kind == "-m":
        name, *rest = rest
        return Module(name), rest
    return kind, rest

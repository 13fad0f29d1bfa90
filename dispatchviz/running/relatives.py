"""The processes that a program starts, each recorded into a file of its own (``--ranks``).

A new Python gets a runner in front of its program (``cli/recorded_child.py``), which records it. A forked child goes on
with the same recorder, which forgets everything it knew and writes to another file.

Not here: the names of the files (``process/family_files.py``), how processes are noticed (``process/children.py``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dispatchviz.core.seam import recorder
from dispatchviz.running.process.children import starts_another
from dispatchviz.running.process.early_end import Keeper, default_signals_again
from dispatchviz.running.process.family_files import FamilyFile, Lineage
from dispatchviz.running.process.python_commands import Word, is_fork_server, is_helper, python_of, with_runner
from dispatchviz.running.process.standard_output import report_writes
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.program_source import Source
from dispatchviz.running.recording import About, Recording

Runner = Callable[[Lineage, str, str], Sequence[str]]
"""A function that returns the words of the runner, for a child with this lineage, and the name and file of the program
that starts it.
"""


class FamilyKeeper(Keeper, Protocol):
    """A keeper that can go on in a forked child."""

    def begin_in_child(self, trace: Recording) -> None:
        """Write another recording to another file. The parent's file is not touched."""


class Relatives:
    """The processes that a program starts, and this one's place among them."""

    def __init__(self, file: FamilyFile, runner: Runner) -> None:
        self.file = file
        self._runner = runner
        self.keeper: FamilyKeeper | None = None
        """The keeper of this process's trace, once it is recorded."""

    def about(self, of: About) -> About:
        """Return the facts for a header: those of the engine, and this process."""

        def about(looking: bool) -> Mapping[str, Any]:
            rank = self.file.rank
            return {**of(looking), "process": self.file.process, **({} if rank is None else {"rank": rank})}

        return about

    def command(
        self, words: Sequence[Word], executables: Sequence[Word], program: Source
    ) -> tuple[list[str], list[bytes]] | None:
        """Return the command line and the executables with which a new Python is recorded. Return None for any other
        program.
        """
        python = None if is_helper(words) or is_fork_server(words) else python_of(executables)
        if python is None:
            return None
        executable, script = python
        whole = [executable, script, *words[1:]] if script else [words[0], *words[1:]]
        recorded = with_runner(whole, [*self._runner(self.file.for_children(), program.shown, program.path)])
        return None if recorded is None else (recorded, [os.fsencode(executable)])

    def begin_in_child(self, watcher: ProgramRecorder, trace: Recording) -> None:
        """Record a forked child from its first moment, unless it is about to become another program, or its parent was
        not recorded any more.
        """
        default_signals_again()
        keeper = self.keeper
        if keeper is None or recorder.listening is not watcher or starts_another():
            recorder.stop(watcher)
            return
        self.file = FamilyFile(self.file.lineage_from(os.getppid()))
        try:
            watcher.begin_in_child()
            keeper.begin_in_child(trace.in_child())
            report_writes(sys.stdout, watcher.wrote)
        except Exception:  # it runs without a recording
            recorder.stop(watcher)

"""The processor time of other processes."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence

Command = Sequence[str]

START = "import sys; from dispatchviz.cli import main; sys.exit(main())"
"""The code of the installed script."""


def own_command(*words: str) -> Command:
    """Return the command line of a command of ours."""
    return [sys.executable, "-c", START, *words]


def seconds(command: Command, statuses: Sequence[int] = (0,)) -> float:
    """Return the processor seconds of a process and its children. Raise CalledProcessError if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in statuses:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def smallest(processes: Mapping[str, Command], rounds: int) -> dict[str, float]:
    """Return the processor seconds of each process, the smallest over rounds in which they alternate."""
    found = dict.fromkeys(processes, float("inf"))
    for _ in range(rounds):
        for name, command in processes.items():
            found[name] = min(found[name], seconds(command))
    return found

"""Ties between processes: a child process ends with its parent, and so do all of the child's own children.

A tie is a process of its own, the watcher, which waits until one of the two has ended. The kernel's own tie
(``PR_SET_PDEATHSIG``) would signal the child alone, and the processes of the program in it would stay.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import NamedTuple

PAUSE = 0.5
"""The seconds between two checks, on systems without handles of processes."""

Handles = list[int]
"""Files that become readable when a process has ended: the parent's, then the child's. Empty if the system has none."""


def end_with(parent: int) -> None:
    """Tie this process to its parent. On Windows, do nothing."""
    if sys.platform == "win32":
        return
    child = os.getpid()
    handles = _handles(parent, child)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)
    between = os.fork()
    if not between:
        _watch(parent, child, handles)
    os.waitpid(between, 0)
    for each in handles:
        os.close(each)


def _handles(parent: int, child: int) -> Handles:
    if sys.platform != "linux":
        return []
    try:
        return [os.pidfd_open(parent), os.pidfd_open(child)]
    except OSError:  # Linux before 5.3
        return []


def _watch(parent: int, child: int, handles: Handles) -> None:
    """Become the watcher, which has no terminal, has no file of the program, and is not one of its children."""
    with suppress(BaseException):
        os.setsid()
        if not os.fork():
            null = os.open(os.devnull, os.O_RDWR)
            for each in range(3):
                os.dup2(null, each)
            os.chdir("/")
            if _parent_ends_first(parent, child, handles):
                kill_tree(child)
    os._exit(0)


def _parent_ends_first(parent: int, child: int, handles: Handles) -> bool:
    if handles:
        poll = select.poll()
        for each in handles:
            poll.register(each, select.POLLIN)
        return handles[0] in dict(poll.poll())
    while _is_there(parent) and _is_there(child):
        time.sleep(PAUSE)
    return not _is_there(parent)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def kill_tree(process: int) -> None:
    """Kill a process and its descendants. All are stopped first, so that none starts another one meanwhile."""
    stopped: set[int] = set()
    while new := {process, *(each.number for each in begun_by(process))} - stopped:
        for each in new:
            _send(each, signal.SIGSTOP)
        stopped |= new
    _send(-process, signal.SIGKILL)  # the group that it leads, if it leads one
    for each in stopped:
        _send(each, signal.SIGKILL)


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


class Descendant(NamedTuple):
    """A process that another one started, directly or indirectly."""

    number: int
    moment: str
    """The start time, because process numbers are reused."""

    def kill(self) -> None:
        """Kill the process, if it still exists."""
        if _moment(self.number) == self.moment:
            _send(self.number, signal.SIGKILL)


def begun_by(process: int) -> set[Descendant]:
    """Return all descendants of a process. Only Linux reports them; elsewhere the set is empty."""
    found: set[Descendant] = set()
    waiting = [process]
    while waiting:
        new = {Descendant(each, _moment(each)) for each in _children(waiting.pop())}
        waiting += [each.number for each in new - found]
        found |= new
    return found


def _children(process: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{thread}/children") as file:
                found.update(map(int, file.read().split()))
    return found


def _moment(process: int) -> str:
    with suppress(OSError), open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[19]
    return ""

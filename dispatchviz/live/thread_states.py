"""The state of each thread of a recorded program: the kernel, the backward and the Node in which it is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from sys import _getframe
from typing import TYPE_CHECKING, Any
from weakref import ref

from dispatchviz.live.engine_watch import NO_RUN, Evaluation, Pass
from dispatchviz.live.watched_operators import WatchedCell
from dispatchviz.running.program_recorder import ProgramRecorder

if TYPE_CHECKING:
    from dispatchviz.live.live_notes import Sets
    from dispatchviz.live.local_sets import LocalSets
    from dispatchviz.live.watched_cells import WatchedCells


Kernel = tuple[WatchedCell, "Sets", "Kernel | None", int]
"""A running kernel: its cell, the tensors that its call was given, the kernel around it, its raw key set."""


class ThreadState:
    """The state of a thread."""

    __slots__ = (
        "depth",
        "evaluation",
        "grad_mode",
        "inside",
        "is_engines",
        "newest",
        "numbers",
        "run",
        "sets",
        "watched",
        "work",
        "zeros",
    )

    def __init__(self, sets: Sequence[int]) -> None:
        self.sets = sets
        """The thread-local include and exclude sets. They are current whenever one is read (``local_sets.py``)."""
        self.watched = True
        self.is_engines = False
        """True if PyTorch's engine created the thread."""
        self.begin()

    def begin(self) -> None:
        """Begin outside of all kernels and backwards, at first and in a forked child."""
        self.inside: Kernel | None = None
        """The innermost kernel."""
        self.numbers: dict[int, int] = {}
        """Serial numbers of the wrapped numbers in the outermost call, by the ``id`` of the tensor."""
        self.newest = -1
        """The highest sequence number among the thread's own Nodes that were met."""
        self.evaluation: Evaluation | None = None
        self.grad_mode = True
        """Grad mode at the last outermost call."""
        self.depth = 0
        """The number of passes of the engine that the thread is in."""
        self.run = NO_RUN
        """The innermost pass."""
        self.work: Pass | None = None
        """The backward whose Nodes the thread evaluates."""
        self.zeros: dict[Any, ref[Any]] = {}
        """The newest zero tensor without dimensions of each dtype (``zero_numbers.py``)."""


class ThreadStates(threading.local):
    """The state of each thread. It is a single attribute, because reading a ``threading.local`` is slow.

    Calls on the threads of ``at::parallel_for`` are not recorded: these threads belong to OpenMP, and their order is
    arbitrary.
    """

    def __init__(self, local_sets: LocalSets, cells: WatchedCells, only: int | None = None) -> None:
        """Create the state of a thread. ``only`` is the identifier of the only thread that is recorded, if one is."""
        self.state = ThreadState(local_sets.of_this_thread())
        if only not in (None, threading.get_ident()):
            self.state.watched = False
        if cells.in_parallel and _getframe(1).f_back is None:
            self.state.watched = False


class ThreadRecorder(ProgramRecorder):
    """A recorder that knows the state of each thread."""

    _threads: ThreadStates

    @property
    def thread(self) -> ThreadState:
        """The state of the current thread."""
        return self._threads.state

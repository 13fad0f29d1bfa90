"""The modes of the process, and the implementation of each hot function in them.

Functions that every operation passes through do not check each time whether a recorder is active, anomaly mode is on or
a second stream exists. That is checked once, when a mode changes. The table lists every such function, and its
implementation for each set of modes::

    process_modes.hot_function(Node, "add_input_metadata", {NO_MODE: plain, Mode.STREAMS: with_stream})

Rule 1: the set of modes alone decides the implementation. In whatever order the modes were switched, an owner has its
own functions back when the last mode is off. No other code assigns to a class or a module to change an implementation.
A class with hundreds of subclasses keeps its function, whose code is exchanged (``hot_code``): a new attribute takes
0.1 ms there, and Python forgets all that it knows about the attributes of these classes.
Rule 2: a change happens as a whole or, if an exception interrupts it (Ctrl+C), not at all.

PyTorch has the same conditions as global flags: ``at::SavedTensorHooks::is_enabled``, ``AnomalyMode::is_enabled``,
``at::impl::torch_function_mode_enabled``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Flag, auto
from functools import reduce
from operator import or_
from types import FunctionType, ModuleType
from typing import Any, NamedTuple


class Mode(Flag):
    """The modes that hold for the whole process and change the implementation of hot functions."""

    RECORDING = auto()
    """A recorder listens to the machine (``recorder.py``)."""
    LISTENING = auto()
    """A recorder listens to an installed PyTorch."""
    ANOMALY = auto()
    """Anomaly mode is on (``autograd/engine/anomaly_mode.py``)."""
    NAN_CHECK = auto()
    """Anomaly mode, if it is on, checks for nan."""
    STREAMS = auto()
    """There is a second stream (``streams.py``)."""
    FUNCTION_MODES = auto()
    """Some thread has a mode with ``__torch_function__`` (``torch_function.py``)."""
    SAVED_TENSOR_HOOKS = auto()
    """Some thread has default saved-tensor hooks (``autograd/graph/saved_variable_hooks.py``)."""
    THREADS = auto()
    """A second thread has used the machine (``thread_state.py``)."""


NO_MODE = Mode(0)

Counts = Mapping[Mode, int]
"""The number of times each mode was entered and not left. A mode that is missing is off."""

NEW_PROCESS: Counts = {Mode.NAN_CHECK: 1}
"""The counts of a new process."""


Owner = type | ModuleType | FunctionType
Implementation = tuple[Any, str, Any]
"""The owner, the name, and what the owner has under it."""


class HotFunction(NamedTuple):
    """One row of the table."""

    owner: Any
    """A class, a module or a function."""
    name: str
    implementations: Mapping[Mode, Any]
    """The implementation for every combination of its modes: a function, or the code of a function. ``NO_MODE`` has the
    owner's own.
    """

    @property
    def relevant(self) -> Mode:
        """The modes that change this function."""
        return reduce(or_, self.implementations, NO_MODE)

    def implementation(self, active: Mode) -> Implementation:
        """Return the owner, the name, and the function that the owner has in a set of modes."""
        return self.owner, self.name, self.implementations[active & self.relevant]


class Effects(NamedTuple):
    """The effects of a change of modes. They are cached, since each test may record and so change them twice."""

    implementations: tuple[Implementation, ...]
    actions: tuple[Callable[[], None], ...]


class ProcessModes:
    """The active modes, and the functions and actions that depend on them."""

    def __init__(self) -> None:
        self.counts: Counts = NEW_PROCESS
        self.active = Mode.NAN_CHECK
        """The modes that are on."""
        self.several_threads = False
        """True if ``Mode.THREADS`` is on. It is a plain attribute, since the engine reads it at every Node."""
        self.table: list[HotFunction] = []
        self._dependents: list[tuple[Mode, Callable[[], None]]] = []
        self._effects: dict[tuple[Mode, Mode], Effects] = {}
        """The effects of the changes so far, by the changed and the active modes."""
        self._changing = threading.RLock()

    # -- functions and actions that depend on modes -------------------------------------------------------------------

    def hot_code(self, function: Any, implementations: Mapping[Mode, Callable[..., Any]]) -> None:
        """Add a row for the code of a function. The implementations have the same parameters and no closures."""
        self.hot_function(function, "__code__", {mode: each.__code__ for mode, each in implementations.items()})

    def hot_function(self, owner: Owner, name: str, implementations: Mapping[Mode, Any]) -> None:
        """Add a row to the table. Raise ValueError if a combination of its modes is missing, or if the table has the
        row already.
        """
        row = HotFunction(owner, name, implementations)
        if len(implementations) != 1 << len(list(row.relevant)):
            raise ValueError(f"{owner.__name__}.{name} has no implementation for some of {row.relevant}")
        if any(other.owner is owner and other.name == name for other in self.table):
            raise ValueError(f"{owner.__name__}.{name} is in the table already")
        self.table.append(row)
        self._effects.clear()
        setattr(*row.implementation(self.active))

    def when_changed(self, modes: Mode, action: Callable[[], None]) -> None:
        """Call ``action`` after one of ``modes`` has changed, since values derived from it are no longer valid."""
        self._dependents.append((modes, action))
        self._effects.clear()

    # -- changes ------------------------------------------------------------------------------------------------------

    def enter(self, mode: Mode) -> None:
        """Switch the mode on, or count one more use of it."""
        with self._changing:
            self._become({**self.counts, mode: self.counts.get(mode, 0) + 1})

    def leave(self, mode: Mode) -> None:
        """Count one use less. The mode is off when it was left as often as it was entered."""
        with self._changing:
            self._become({**self.counts, mode: self.counts.get(mode, 0) - 1})

    def set(self, mode: Mode, on: bool) -> None:
        """Switch a mode that is either on or off."""
        with self._changing:
            self._become({**self.counts, mode: int(on)})

    def exchange(self, counts: Counts) -> Counts:
        """Set the counts, except for the modes of a recorder, which do not belong to the program. Return the previous
        counts.
        """
        with self._changing:
            before = self.counts
            self._become({**counts, **{mode: before.get(mode, 0) for mode in (Mode.RECORDING, Mode.LISTENING)}})
            return before

    def refresh(self, modes: Mode) -> None:
        """Install and derive everything that depends on ``modes`` again, as if they had changed."""
        with self._changing:
            self._install(modes)

    def _become(self, counts: Counts) -> None:
        before, was_active = self.counts, self.active
        active = NO_MODE
        for mode, count in counts.items():
            if count > 0:
                active |= mode
        try:
            self.counts, self.active = counts, active
            if active != was_active:
                self._install(active ^ was_active)
        except BaseException:
            self.counts, self.active = before, was_active
            self._install(active ^ was_active)
            raise

    def _install(self, changed: Mode) -> None:
        self.several_threads = bool(self.active & Mode.THREADS)
        effects = self._effects.get((changed, self.active))
        if effects is None:
            effects = self._effects[changed, self.active] = self._effects_of(changed)
        for implementation in effects.implementations:
            setattr(*implementation)
        for action in effects.actions:
            action()

    def _effects_of(self, changed: Mode) -> Effects:
        return Effects(
            tuple(row.implementation(self.active) for row in self.table if row.relevant & changed),
            tuple(action for modes, action in self._dependents if modes & changed),
        )


process_modes = ProcessModes()
"""The modes of this process."""

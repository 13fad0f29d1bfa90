"""The modes of the process alone decide which functions run, and the table lists everything that is exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchviz.torch  # noqa: F401  which loads what there is
from dispatchviz.core.autograd.engine import anomaly_mode
from dispatchviz.core.autograd.graph import saved_variable_hooks
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.bindings import torch_function
from dispatchviz.core.device import streams
from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NEW_PROCESS, NO_MODE, HotFunction, Mode, ProcessModes, process_modes
from dispatchviz.core.thread.thread_state import thread
from tests.exchangeable import exchangeable


class Changes:
    """Changes of modes as programs make them, with a way to undo each."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None

    def record(self) -> None:
        if self.recorder is None:
            self.recorder = Recorder()
            recorder.start(self.recorder)

    def stop_recording(self) -> None:
        if self.recorder is not None:
            recorder.stop(self.recorder)
            self.recorder = None

    def anomaly(self) -> None:
        anomaly_mode.set_enabled(True)

    def anomaly_without_nan_check(self) -> None:
        anomaly_mode.set_enabled(True, False)

    def no_anomaly(self) -> None:
        anomaly_mode.set_enabled(False)

    def second_stream(self) -> None:
        streams.from_pool(0)

    def one_stream(self) -> None:
        streams.exchange_state()

    def push_function_mode(self) -> None:
        torch_function.push_mode(object())

    def pop_function_mode(self) -> None:
        if thread.state.function_modes:
            torch_function.pop_mode()

    def push_hooks(self) -> None:
        saved_variable_hooks.push_default_hooks(lambda tensor: tensor, lambda tensor: tensor)

    def pop_hooks(self) -> None:
        if thread.state.saved_tensors_hooks:
            saved_variable_hooks.pop_default_hooks()

    def second_thread(self) -> None:
        process_modes.set(Mode.THREADS, True)


CHANGES = [name for name in vars(Changes) if not name.startswith("_")]
ENDS = ("stop_recording", "no_anomaly", "one_stream", "pop_function_mode", "pop_hooks")


@contextmanager
def put_back() -> Iterator[Changes]:
    """Restore every mode after the block, each in its own way."""
    before, queues, changes = process_modes.exchange(NEW_PROCESS), streams.exchange_state(), Changes()
    try:
        yield changes
    finally:
        for end in ENDS:
            getattr(changes, end)()
        while thread.state.function_modes:
            changes.pop_function_mode()
        while thread.state.saved_tensors_hooks:
            changes.pop_hooks()
        process_modes.set(Mode.THREADS, False)
        modes_at_end = process_modes.active
        streams.exchange_state(queues)
        process_modes.exchange(before)
    assert modes_at_end == Mode.NAN_CHECK


def installed() -> dict[str, Any]:
    """The functions that the owners of the table's rows have now."""
    return {named(row): getattr(row.owner, row.name) for row in process_modes.table}


def named(row: HotFunction) -> str:
    """The name of a row, as ``exchangeable`` gives it."""
    module = getattr(row.owner, "__module__", None)
    return _of_module(row) if isinstance(row.owner, ModuleType) else f"{module}.{row.owner.__qualname__}.{row.name}"


def _of_module(row: HotFunction) -> str:
    return f"{row.owner.__name__}.{row.name}"


@given(st.lists(st.sampled_from(CHANGES), max_size=25))
def test_owners_have_their_functions_back_after_any_changes(changes: list[str]) -> None:
    with put_back() as machine:
        own = installed()
        for change in changes:
            getattr(machine, change)()
            for row in process_modes.table:
                assert getattr(row.owner, row.name) is row.implementations[process_modes.active & row.relevant]
    assert installed() == own


@pytest.mark.parametrize("change", CHANGES)
def test_table_lists_all_functions_that_modes_replace(change: str) -> None:
    with put_back() as machine:
        before = exchangeable()
        getattr(machine, change)()
        after = exchangeable()
    assert {name for name in before if before[name] is not after.get(name)} <= installed().keys()


def test_every_mode_matters_to_a_hot_function_or_to_the_engine() -> None:
    """The engine itself checks whether there are threads."""
    relevant = NO_MODE
    for row in process_modes.table:
        relevant |= row.relevant
    assert relevant | Mode.THREADS == ~NO_MODE


class Owner:
    """A class with a function that depends on modes."""

    def run(self) -> str:
        return "plain"


def _saying(text: str) -> Callable[[Any], str]:
    return lambda self: text


@pytest.fixture
def modes() -> Iterator[ProcessModes]:
    """Return the modes of another process."""
    plain = Owner.run
    found = ProcessModes()
    recorded, both = _saying("recorded"), _saying("recorded in anomaly mode")
    implementations = {
        NO_MODE: plain,
        Mode.RECORDING: recorded,
        Mode.ANOMALY: _saying("in anomaly mode"),
        Mode.RECORDING | Mode.ANOMALY: both,
    }
    found.hot_function(Owner, "run", implementations)
    yield found
    Owner.run = plain  # type: ignore[method-assign]


def test_a_function_that_depends_on_two_modes_has_one_implementation_for_each_set(modes: ProcessModes) -> None:
    outcomes = [Owner().run()]
    for mode, on in ((Mode.RECORDING, True), (Mode.ANOMALY, True), (Mode.RECORDING, False), (Mode.ANOMALY, False)):
        modes.set(mode, on)
        outcomes.append(Owner().run())
    assert outcomes == ["plain", "recorded", "recorded in anomaly mode", "in anomaly mode", "plain"]


def test_mode_is_off_after_as_many_exits_as_entries(modes: ProcessModes) -> None:
    modes.enter(Mode.ANOMALY)
    modes.enter(Mode.ANOMALY)
    modes.leave(Mode.ANOMALY)
    assert Owner().run() == "in anomaly mode"
    modes.leave(Mode.ANOMALY)
    assert Owner().run() == "plain"


def test_interrupted_change_has_no_effect(modes: ProcessModes) -> None:
    interrupts = iter([KeyboardInterrupt()])

    def interrupted() -> None:
        for interrupt in interrupts:
            raise interrupt

    modes.when_changed(Mode.ANOMALY, interrupted)
    before = modes.counts
    with pytest.raises(KeyboardInterrupt):
        modes.enter(Mode.ANOMALY)
    assert (modes.counts, modes.active, Owner().run()) == (before, Mode.NAN_CHECK, "plain")
    modes.enter(Mode.ANOMALY)
    assert Owner().run() == "in anomaly mode"


def test_a_row_without_an_implementation_for_some_modes_is_refused(modes: ProcessModes) -> None:
    owner: Any = SimpleNamespace(__name__="owner")
    with pytest.raises(ValueError, match=r"owner\.run has no implementation for some of"):
        modes.hot_function(owner, "run", {NO_MODE: print, Mode.ANOMALY | Mode.STREAMS: print})


def test_a_function_has_one_row(modes: ProcessModes) -> None:
    with pytest.raises(ValueError, match=r"Owner\.run is in the table already"):
        modes.hot_function(Owner, "run", {NO_MODE: Owner.run})


def test_exchanging_modes_keeps_those_of_a_recorder(modes: ProcessModes) -> None:
    modes.set(Mode.RECORDING, True)
    before = modes.exchange(NEW_PROCESS)
    assert Owner().run() == "recorded"
    modes.exchange(before)
    assert modes.active == Mode.NAN_CHECK | Mode.RECORDING


def test_the_constructor_of_nodes_has_one_owner() -> None:
    rows = [row for row in process_modes.table if row.owner is Node.__init__ and row.name == "__code__"]
    assert [row.relevant for row in rows] == [Mode.RECORDING | Mode.ANOMALY]

"""The Recorder: every kind of event has one method here, or a note that the machine emits.

The machine says what happens with live objects (``recorder.active.version_bumped(tensor, before)``); the recorder
numbers them and emits notes, tuples of facts that are copied into one flat list; that is all that is done while the
program runs. ``event_builder.py`` builds the events when they are first accessed.

Rule 1: a fact is a number, a string or another value that cannot change. What can is made a string at once.
Rule 2: before registrations change, the notes are read: what an event says of a cell holds for the moment of the call.
Rule 3: notes have the serial numbers of tensors, storages and Nodes; the event builder counts them from 0.
Rule 4: every note is one of ``record/note_types.py``, which the type checker compares with where it is emitted.
"""

from __future__ import annotations

from dispatchviz.core.record.recorders.autograd_recorder import AutogradRecorder
from dispatchviz.core.record.recorders.call_recorder import CallRecorder
from dispatchviz.core.record.recorders.engine_recorder import EngineRecorder
from dispatchviz.core.record.recorders.number_recorder import NumberRecorder
from dispatchviz.core.record.recorders.tensor_recorder import TensorRecorder
from dispatchviz.core.record.recorders.thread_state_recorder import ThreadStateRecorder


class Recorder(NumberRecorder, CallRecorder, ThreadStateRecorder, TensorRecorder, AutogradRecorder, EngineRecorder):
    """Records what the machine does, all subjects together."""

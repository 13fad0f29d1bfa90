"""The Recorder: every kind of event has one method here, or a note that the machine emits.

The machine reports events with live objects (``recorder.active.version_bumped(tensor, before)``). The recorder numbers
them and emits notes, tuples of facts that are copied into one flat list. Nothing else is done while the program runs.
``event_builder.py`` builds the events when they are first accessed.

Rule 1: a fact is a number, a string or another immutable value. A mutable one is converted to a string at once.
Rule 2: the notes are read before registrations change, since an event's facts about a dispatch table entry are those at
the time of the call.
Rule 3: notes have the serial numbers of tensors, storages and Nodes. The event builder counts them from 0.
Rule 4: every note is one of ``record/note_types.py``. The type checker compares it where it is emitted.
"""

from __future__ import annotations

from dispatchviz.core.record.recorders.autograd_recorder import AutogradRecorder
from dispatchviz.core.record.recorders.call_recorder import CallRecorder
from dispatchviz.core.record.recorders.engine_recorder import EngineRecorder
from dispatchviz.core.record.recorders.number_recorder import NumberRecorder
from dispatchviz.core.record.recorders.tensor_recorder import TensorRecorder
from dispatchviz.core.record.recorders.thread_state_recorder import ThreadStateRecorder


class Recorder(NumberRecorder, CallRecorder, ThreadStateRecorder, TensorRecorder, AutogradRecorder, EngineRecorder):
    """The recorder of the machine, with all subjects."""

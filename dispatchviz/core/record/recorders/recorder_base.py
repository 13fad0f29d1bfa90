"""The base of all subjects of a recorder: the list of notes, and the numbers of tensors, storages and Nodes.

Objects are numbered through a slot of their own (``_number``), in the order in which recordings meet them, so that no
note keeps a tensor or a Node alive. The serial numbers continue over all recordings: an object with a number below the
first of this recording is new to it. Events count from 0.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVarTuple

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.node_life import follow
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_builder import EventBuilder
from dispatchviz.core.record.file_names import seen_from
from dispatchviz.core.record.recorders.freed_nodes import FreedNodes
from dispatchviz.core.record.recorders.safety_net import SafetyNet
from dispatchviz.core.record.recording_limit import MOST_IN_MEMORY
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed
from dispatchviz.core.seam.process_modes import process_modes
from dispatchviz.core.thread import thread_state
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.note_types import Emit, EventNote, MaybeTensors, Note, QueuedNodes
    from dispatchviz.core.record.trace_stream import TraceStream
    from dispatchviz.core.tensor.tensor import Tensor

Fields = TypeVarTuple("Fields")

_tensor_numbers, _storage_numbers, _node_numbers, _counter_numbers = count(), count(), count(), count()
"""Serial numbers over all recordings."""

numbering = threading.RLock()
"""A lock for numbering objects that several threads may meet at once."""

MANY_NOTES = 1 << 12
"""The number of items in the list of notes that are read at once if events go to a file: about 64 KiB."""

NOTE_LENGTH = 3
"""The approximate number of items of a note for each of its events."""

KNOWN: ev.TensorOrigin = "known before"
"""The origin of a tensor that existed before the recording."""


class RecorderBase(SafetyNet):
    """The methods that emit notes and number the tensors, storages and Nodes in them."""

    hears_machine = True
    """True if the machine reports to it. Otherwise it listens to an installed PyTorch, and the machine may be used
    beside it.
    """

    begins_suspended = False
    """True if it listens only while a part of the program runs, which has not begun."""

    def __init__(self, builder: EventBuilder | None = None) -> None:
        self.failed: Exception | None = None
        """The internal error that ended the recording."""
        self.notes: list[Any] = []
        """All notes that have not been read, one after the other: a name, its facts, the next name."""
        self.note: Emit = self.notes.extend
        """The function that emits one note. The note is copied into the list: only its facts are kept."""
        self.node_freed = FreedNodes(self.notes.append)
        """The callback for the end of each numbered Node."""
        self.builder = builder or EventBuilder()
        self.hashes = False
        """True if the numbers of results are hashed. Set it before the recording begins."""
        self.stream: TraceStream | None = None
        """The stream that gets the events while the program runs; None if they stay in memory."""
        self.full = False
        """True if the recording stays in memory and has reached the limit."""
        self.interrupted = False
        """True if notes are lost because an exception from outside, such as KeyboardInterrupt, came while they were
        read.
        """
        self.classes_may_change = False
        """True if a note refers to a class whose backward the program may replace."""
        self._reading = threading.RLock()
        self._folder = ""
        """The working directory when the recording ended; empty before that."""
        self._kept_notes = 0
        """The number of items in ``notes`` when the limit was reached."""
        self._to_raise: list[BaseException] = []
        """Exceptions from outside that were raised where Python ignores all exceptions."""
        self.many_notes = self._many_notes()
        """The number of items in ``notes`` above which ``hand_over`` must be called."""
        self.tensor_numbers, self.storage_numbers, self.node_numbers = _tensor_numbers, _storage_numbers, _node_numbers
        self.first_tensor = self.first_storage = self.first_node = self.first_counter = 0
        self.state: thread_state.State | None = None
        """The state of the recording thread, as long as there is no other thread, not even one of a device."""
        self.found = False
        """True if the caller of the next call has just been noted."""
        self.kernels: set[int] = set()
        """The ``id`` of code objects whose callers have been found already: kernels, bindings."""
        self._last_error: tuple[int, int] | None = None
        """The ``id`` of the last recorded exception, and the number of frames that it had passed through. The exception
        itself is not kept, since it would keep its frames and their tensors alive.
        """

    def begin(self) -> None:
        """Begin a recording, in which objects without a number are new."""
        self.first_tensor = self.builder.tensors.first = next(_tensor_numbers) + 1
        self.first_storage = self.builder.storages.first = next(_storage_numbers) + 1
        self.first_node = self.builder.nodes.first = next(_node_numbers) + 1
        self.first_counter = self.builder.counters.first = next(_counter_numbers) + 1
        self.state = None if thread_state.several() else thread.state
        if process_modes.several_threads:
            self.distinguish_threads()

    def end(self) -> None:
        """Stop recording the end of Nodes."""
        self.node_freed.not_noted()

    def find_caller(self, parsed: bool = True, in_kernel: bool = False, /) -> None:
        """Emit the user's current line if it changed, in a recorder of the user's code.

        ``parsed``: an enclosing binding has emitted the line. ``in_kernel``: the caller of the enclosing kernel has.
        """

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def events(self) -> list[ev.AnyEvent]:
        """All events so far of a recording that stays in memory."""
        self.settle()
        events = self.builder.events
        assert isinstance(events, list)
        return events

    def settle(self) -> None:
        """Build the events of all notes so far."""
        if self.stream is not None:
            self.stream.flush()
        elif self.notes and self.failed is None:
            with self._reading:
                self._read_notes()

    def _read_notes(self) -> None:
        if self.full:
            del self.notes[self._kept_notes :]
            self._kept_notes = 0
        try:
            with seen_from(self._folder):
                self.builder.read(self.notes)
        except BaseException:
            self.interrupted = True
            raise
        self.many_notes = self._many_notes()

    def read_later(self, folder: str, /) -> None:
        """Keep the notes of a recording that has ended in a working directory, until the events are needed. Later notes
        are dropped: a frame or another thread may still emit some.
        """
        self._folder = folder
        kept = self.notes.copy()
        self.notes.clear()
        self.notes = kept

    def write_to(self, stream: TraceStream, at_once: bool = False) -> None:
        """Send later events to a stream. With ``at_once`` it is emptied after each note."""
        self.stream = stream
        self.many_notes = self._many_notes()
        if at_once:
            self.note = self._note_at_once

    def _note_at_once(self, note: Any, /) -> None:
        self.notes.extend(note)
        self.hand_over()

    def raise_soon(self, error: BaseException, /) -> None:
        """Raise an exception from outside when the program next calls us. Python ignores it where it was raised."""
        self._to_raise.append(error)
        self.many_notes = self._many_notes()

    def _many_notes(self) -> int:
        if self._to_raise:
            return -1
        return MANY_NOTES if self.stream is not None else NOTE_LENGTH * (MOST_IN_MEMORY - len(self.builder.events))

    def hand_over(self, /) -> None:
        """Let the stream read the notes. End the recording if it has stopped, or if the memory limit is reached."""
        if self._to_raise:
            try:
                raise self._to_raise.pop()
            finally:
                self.many_notes = self._many_notes()
        if self.stream is not None:
            self.stream.flush()
            if self.stream.stopped:
                recorder.stop(self)  # type: ignore[arg-type]
                self.notes.clear()
        elif len(self.notes) > self._many_notes():
            self.full, self._kept_notes = True, len(self.notes)
            recorder.stop(self)  # type: ignore[arg-type]

    def _give_up(self, error: Exception) -> None:
        """End the recording after an internal error. Events emitted before are kept."""
        if self.failed is not None:
            return
        self.failed = error
        recorder.stop(self)  # type: ignore[arg-type]
        with own_errors_suppressed(Exception):  # the notes may be the cause
            self.settle() if self.stream is not None else self.builder.read(self.notes)
        read = len(self.builder.events)
        warnings.warn(f"recording stopped at event {read}: {error!r}", RuntimeWarning, stacklevel=4)

    # -- threads ------------------------------------------------------------------------------------------------------

    def states_change(self) -> None:
        """Look up the thread's state for each note, since a thread may now have the state of another one."""
        self.state = None
        recorder.recorder_changes()

    def distinguish_threads(self) -> None:
        """Put the thread's identifier into every note of a thread other than the recording one."""
        self.state = None
        self.note = functools.partial(_emit_on_thread, self.notes, self.builder.thread)
        self.node_freed.note_with_thread(self.notes)
        recorder.recorder_changes()

    # -- events as they are -------------------------------------------------------------------------------------------

    def _emit(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """Emit an event that has no note of its own. The fields are those of the event, with numbers counted from 0."""
        note: EventNote = ("event", kind, fields)  # type: ignore[assignment]
        self.note(note)

    def _emit_span(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """Emit an event that is open until ``leave``."""
        note: EventNote = ("span", kind, fields)  # type: ignore[assignment]
        self.note(note)

    def leave(self, /) -> None:
        """Close the innermost open event."""
        self.note(recorder.LEAVE)

    # -- numbers of tensors -------------------------------------------------------------------------------------------

    def number_of(self, tensor: Tensor, /) -> int:
        """Return the tensor's serial number, of this or an earlier recording."""
        return tensor._number

    def serial(self, tensor: Tensor, /) -> int:
        """Return the serial number of a tensor. Record the tensor first if it existed before and is new to the
        recording.
        """
        number = tensor._number
        return number if number >= self.first_tensor else self._introduce(tensor, KNOWN)

    def _serial(self, tensor: Tensor) -> int:
        number = tensor._number
        return number if number >= self.first_tensor else self._introduce(tensor, KNOWN)

    def _tensor(self, tensor: Tensor) -> int:
        """Return the number of a tensor in this recording."""
        number, first = tensor._number, self.first_tensor
        return (number if number >= first else self._introduce(tensor, KNOWN)) - first

    def _tensor_or_none(self, tensor: Tensor | None) -> int | None:
        return None if tensor is None else self._tensor(tensor)

    def _tensors(self, tensors: Iterable[Tensor | None]) -> MaybeTensors:
        return tuple(self._tensor_or_none(tensor) for tensor in tensors)

    def _serials(self, tensors: Iterable[Tensor | None]) -> MaybeTensors:
        first = self.first_tensor
        return tuple([t if t is None else t._number if t._number >= first else self._serial(t) for t in tensors])

    def _introduce(self, tensor: Tensor, how: ev.TensorOrigin) -> int:
        if not process_modes.several_threads:
            return self._number_tensor(tensor, how)
        with numbering:  # two threads may meet a tensor at the same time
            known = tensor._number
            return known if known >= self.first_tensor else self._number_tensor(tensor, how)

    def _number_tensor(self, tensor: Tensor, how: ev.TensorOrigin) -> int:
        if self.finds_callers and tensor._wrapped_number:  # while a binding parses its arguments
            self.find_caller(False)
        number = next(_tensor_numbers)
        self.note(
            (
                "tensor_created",
                number,
                how,
                tensor._size,
                tensor._stride,
                tensor._dtype,
                tensor._device,
                tensor._ks,
                self._storage(tensor),
                tensor._requires_grad or tensor._grad_fn is not None,
                tensor._wrapped_number,
                _number_text(tensor) if tensor._wrapped_number else "",
            )
        )
        tensor._number = number  # only now, since another thread may use it after this
        return number

    def _storage(self, tensor: Tensor) -> int:
        """Return the serial number of the tensor's storage; -1 if it has no memory."""
        storage = tensor._storage
        if storage.buffer is None:
            return -1
        if storage._number < self.first_storage:
            storage._number = next(_storage_numbers)
        return storage._number

    def _counter(self, tensor: Tensor) -> int:
        """Return the serial number of the tensor's version counter."""
        counter = tensor._version_counter
        if counter.number < self.first_counter:
            with numbering:
                if counter.number < self.first_counter:
                    counter.number = next(_counter_numbers)
        return counter.number

    # -- numbers of Nodes ---------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> int:
        """Return the number of a Node in this recording. A Node that is older appears as if it were created now."""
        number, first = node._number, self.first_node
        return (number if number >= first else self._introduce_node(node)) - first

    def _node_serial(self, node: Node) -> int:
        number = node._number
        return number if number >= self.first_node else self._introduce_node(node)

    def _queued(self, nodes: Sequence[Node]) -> QueuedNodes:
        return tuple([(self._node_serial(node), node.sequence_nr) for node in nodes]) if nodes else ()

    def _introduce_node(self, node: Node) -> int:
        with numbering:
            known = node._number
            return known if known >= self.first_node else self._number_node(node)

    def _number_node(self, node: Node) -> int:
        number = next(_node_numbers)
        if isinstance(node, FunctionBase):
            self.classes_may_change = True
        self.note(("node_known", number, node.__class__, node.sequence_nr, node._topological_nr, node.thread_id))
        node._number = number
        follow(node, number, self.node_freed)
        return number

    # -- values -------------------------------------------------------------------------------------------------------

    def _value_text(self, value: Any) -> str:
        """Return the text of an argument. A tensor is shown by its number."""
        if hasattr(value, "_ks"):
            return str(value._array.item()) if value._wrapped_number else f"t{self._tensor(value)}"
        if isinstance(value, (list, tuple)) and type(value).__repr__ in (list.__repr__, tuple.__repr__):
            return "[" + ", ".join(self._value_text(part) for part in value) + "]"
        if type(value).__name__ in ("UntypedStorage", "TypedStorage"):  # str would call operators for every element
            return f"<{type(value).__name__}>"
        return text_of(value) if not isinstance(value, str) else repr(value)


def text_of(value: object) -> str:
    """The ``str`` of a value that may hold tensors. Printing those does not belong to the program.

    An exception raised there is not an error of the recorder.
    """
    recorder.formatting = True
    try:
        return str(value)
    except Exception as error:
        if is_from_outside(error):
            raise
        return f"<{type(value).__name__} whose str() failed>"
    finally:
        recorder.formatting = False


def _number_text(tensor: Tensor) -> str:
    """The Python number that a wrapped one holds. A device is not waited for."""
    return repr(tensor._array.item()) if tensor._device.type == "cpu" else ""


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors in a result of Python code."""
    if hasattr(value, "_ks"):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)


def _emit_on_thread(notes: list[Any], recording: int, note: Note) -> None:
    """Append a note with its thread. It is one operation, since another thread may emit a note at any moment."""
    ident = threading.get_ident()
    if ident == recording:
        notes.extend(note)
    else:
        notes.extend(("on_thread", ident, *note, "on_thread", recording))

"""What every subject of a recorder needs: the list of notes, and the numbers of tensors, storages and Nodes.

Objects are numbered through a slot of their own (``_number``), in the order in which recordings meet them, so that no
note holds a tensor or a Node alive. The serial numbers go on over all recordings: what has a smaller one than the first
of this recording is new to it. Events count from 0.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVarTuple

from dispatchviz.core.autograd.graph.node_life import follow
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_builder import EventBuilder
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
"""Held while something gets its number that several threads may meet at once."""

MANY_NOTES = 1 << 12
"""So many items in the list of notes are read at once where events go to a file: those of some 64 KiB."""

NOTE_LENGTH = 3
"""The number of items that a note has for each of its events, about."""

KNOWN: ev.TensorOrigin = "known before"
"""How a tensor was met that was there before the recording."""


class RecorderBase(SafetyNet):
    """Emits notes and numbers the tensors, storages and Nodes in them."""

    hears_machine = True
    """The machine tells it; otherwise an installed PyTorch is listened to, and the machine may be used beside it."""

    def __init__(self, builder: EventBuilder | None = None) -> None:
        self.failed: Exception | None = None
        """The fault of ours that ended the recording."""
        self.notes: list[Any] = []
        """All notes that are not read yet, one after the other: a name, its facts, the next name."""
        self.note: Emit = self.notes.extend
        """Emits one note. It is copied into the list: nothing of it stays but its facts."""
        self.node_freed = FreedNodes(self.notes.append)
        """Told of the end of a Node that has a number."""
        self.builder = builder or EventBuilder()
        self.hashes = False
        """The numbers of results are hashed; to be set before the recording begins."""
        self.stream: TraceStream | None = None
        """Where events go while the program runs; without one they stay in memory."""
        self.full = False
        """The recording stays in memory and has reached the limit of that."""
        self._kept_notes = 0
        """The number of items in ``notes`` when the limit was reached."""
        self._to_raise: list[BaseException] = []
        """Exceptions from outside that came where Python ignores every exception."""
        self.many_notes = self._many_notes()
        """When there are more items in ``notes``, ``hand_over`` is to be called."""
        self.tensor_numbers, self.storage_numbers, self.node_numbers = _tensor_numbers, _storage_numbers, _node_numbers
        self.first_tensor = self.first_storage = self.first_node = self.first_counter = 0
        self.state: thread_state.State | None = None
        """That of the recording thread, as long as there is no other, be it the one of a device's thread."""
        self.found = False
        """The caller of the call that comes next has just been noted."""
        self.kernels: set[int] = set()
        """``id`` of code objects whose callers are found already, as far as met: kernels, bindings."""
        self._last_error: tuple[int, int] | None = None
        """``id`` of the exception that was told last, and over how many frames it had come then: it is not kept, since
        it keeps its frames, and these their tensors."""

    def begin(self) -> None:
        """Objects numbered from now on are new."""
        self.first_tensor = self.builder.tensors.first = next(_tensor_numbers) + 1
        self.first_storage = self.builder.storages.first = next(_storage_numbers) + 1
        self.first_node = self.builder.nodes.first = next(_node_numbers) + 1
        self.first_counter = self.builder.counters.first = next(_counter_numbers) + 1
        self.state = None if thread_state.several() else thread.state
        if process_modes.several_threads:
            self.distinguish_threads()

    def end(self) -> None:
        """What becomes of the Nodes from now on is not recorded."""
        self.node_freed.not_noted()

    def find_caller(self, parsed: bool = True, in_kernel: bool = False, /) -> None:
        """Emit the user's current line, if it changed; for a recorder of the user's code.

        ``parsed``: a binding around has emitted that; ``in_kernel``: so has what called the kernel around.
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
            if self.full:
                del self.notes[self._kept_notes :]
                self._kept_notes = 0
            self.builder.read(self.notes)
            self.many_notes = self._many_notes()

    def write_to(self, stream: TraceStream, at_once: bool = False) -> None:
        """From now on events go to a stream; ``at_once``: it is emptied after each note."""
        self.stream = stream
        self.many_notes = self._many_notes()
        if at_once:
            self.note = self._note_at_once

    def _note_at_once(self, note: Any, /) -> None:
        self.notes.extend(note)
        self.hand_over()

    def raise_soon(self, error: BaseException, /) -> None:
        """Raise an exception from outside when the program next calls us: where it came, Python ignores it."""
        self._to_raise.append(error)
        self.many_notes = self._many_notes()

    def _many_notes(self) -> int:
        if self._to_raise:
            return -1
        return MANY_NOTES if self.stream is not None else NOTE_LENGTH * (MOST_IN_MEMORY - len(self.builder.events))

    def hand_over(self, /) -> None:
        """Let the stream read the notes; end the recording if it has stopped, or if memory has no room for more."""
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
        """End the recording after a failure of its own; what was emitted before is kept."""
        if self.failed is not None:
            return
        self.failed = error
        recorder.stop(self)  # type: ignore[arg-type]
        with own_errors_suppressed(Exception):  # the notes may be what is wrong
            self.settle() if self.stream is not None else self.builder.read(self.notes)
        read = len(self.builder.events)
        warnings.warn(f"recording stopped at event {read}: {error!r}", RuntimeWarning, stacklevel=4)

    # -- threads ------------------------------------------------------------------------------------------------------

    def states_change(self) -> None:
        """From now on a thread may carry the state of another one."""
        self.state = None
        recorder.recorder_changes()

    def distinguish_threads(self) -> None:
        """From now on every note of a thread other than the recording one has its thread's identifier."""
        self.state = None
        self.note = functools.partial(_emit_on_thread, self.notes, self.builder.thread)
        self.node_freed.note_with_thread(self.notes)
        recorder.recorder_changes()

    # -- events as they are -------------------------------------------------------------------------------------------

    def _emit(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """An event of which no note is worth having: the fields are its own, with numbers counted from 0."""
        note: EventNote = ("event", kind, fields)  # type: ignore[assignment]
        self.note(note)

    def _emit_span(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """The same of an event that is open until ``leave``."""
        note: EventNote = ("span", kind, fields)  # type: ignore[assignment]
        self.note(note)

    def leave(self, /) -> None:
        """The innermost open event is over."""
        self.note(recorder.LEAVE)

    # -- numbers of tensors -------------------------------------------------------------------------------------------

    def number_of(self, tensor: Tensor, /) -> int:
        """Its serial number, of whichever recording."""
        return tensor._number

    def serial(self, tensor: Tensor, /) -> int:
        """Serial number of a tensor; meeting one that was there before is an event."""
        number = tensor._number
        return number if number >= self.first_tensor else self._introduce(tensor, KNOWN)

    def _serial(self, tensor: Tensor) -> int:
        number = tensor._number
        return number if number >= self.first_tensor else self._introduce(tensor, KNOWN)

    def _tensor(self, tensor: Tensor) -> int:
        """Number of a tensor in this recording."""
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
        tensor._number = number  # only now: from here on another thread may speak of it
        return number

    def _storage(self, tensor: Tensor) -> int:
        """Serial number of its storage; -1 if it has no memory."""
        storage = tensor._storage
        if storage.buffer is None:
            return -1
        if storage._number < self.first_storage:
            storage._number = next(_storage_numbers)
        return storage._number

    def _counter(self, tensor: Tensor) -> int:
        """Serial number of its version counter."""
        counter = tensor._version_counter
        if counter.number < self.first_counter:
            with numbering:
                if counter.number < self.first_counter:
                    counter.number = next(_counter_numbers)
        return counter.number

    # -- numbers of Nodes ---------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> int:
        """Number of a Node in this recording; one made before it began appears as if it were made now."""
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
        self.note(("node_known", number, node.__class__, node.sequence_nr, node._topological_nr, node.thread_id))
        node._number = number
        follow(node, number, self.node_freed)
        return number

    # -- values -------------------------------------------------------------------------------------------------------

    def _value_text(self, value: Any) -> str:
        """The text of an argument: a tensor is its number."""
        if hasattr(value, "_ks"):
            return str(value._array.item()) if value._wrapped_number else f"t{self._tensor(value)}"
        if isinstance(value, (list, tuple)) and type(value).__repr__ in (list.__repr__, tuple.__repr__):
            return "[" + ", ".join(self._value_text(part) for part in value) + "]"
        if type(value).__name__ == "UntypedStorage":  # which prints every byte
            return "<UntypedStorage>"
        return text_of(value) if not isinstance(value, str) else repr(value)


def text_of(value: object) -> str:
    """``str`` of a value that may hold tensors; printing those is no part of the program.

    What raises there is no fault of the recorder's.
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
    """The number that a wrapped one is; a device is not waited for."""
    return repr(tensor._array.item()) if tensor._device.type == "cpu" else ""


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in what Python code returned."""
    if hasattr(value, "_ks"):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)


def _emit_on_thread(notes: list[Any], recording: int, note: Note) -> None:
    """Append a note with its thread; in one piece, since another thread may emit something at any moment."""
    ident = threading.get_ident()
    if ident == recording:
        notes.extend(note)
    else:
        notes.extend(("on_thread", ident, *note, "on_thread", recording))

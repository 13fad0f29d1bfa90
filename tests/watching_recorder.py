"""A recorder that looks at the program at each note, so that tests can compare the program with the events."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.running.program_recorder import ProgramRecorder

T = TypeVar("T")


class WatchingRecorder(ProgramRecorder, Generic[T]):
    """A recorder that stores an observation for each event.

    Methods that subclasses override are private, because the safety net replaces public methods of a recorder.
    """

    newest: ClassVar[Any]
    """The newest recorder, because a program creates its own."""

    def __init__(self) -> None:
        super().__init__()
        WatchingRecorder.newest = self
        self.stood: list[T] = []
        """The observation for each event."""

    def begin(self) -> None:
        super().begin()
        self._listen()

    def distinguish_threads(self) -> None:
        super().distinguish_threads()
        self._listen()

    @abstractmethod
    def _look(self, facts: tuple[Any, ...]) -> T:
        """Return an observation after a note."""

    def _seen(self, event: ev.AnyEvent, now: T) -> T:
        """Return the observation for an event that this note completes."""
        return now

    def _listen(self) -> None:
        note = self.note

        def noted(facts: tuple[Any, ...]) -> None:
            note(facts)
            now = self._look(facts)
            self.builder.read(self.notes)
            self.stood += [self._seen(event, now) for event in self.builder.events[len(self.stood) :]]

        self.note = noted
        self.node_freed.call_for_each(lambda life: noted((life,)))  # one by one: where each is freed

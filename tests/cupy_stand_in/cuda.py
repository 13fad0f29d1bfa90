"""``cupy.cuda``: streams and events whose work is always done."""

from __future__ import annotations

import itertools
from typing import Any

_handles = itertools.count(1)


class Stream:
    """A stream. ``wait_event`` takes only events; ``use`` makes it the current one."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        self.ptr = 0 if null else next(_handles)
        self.done = True

    def synchronize(self) -> None:
        """Do nothing: no work is pending."""

    def use(self) -> Stream:
        """Make this the current stream and return it, as in CuPy."""
        return self

    def wait_event(self, event: Event) -> None:
        """Raise TypeError for anything but an event."""
        if not isinstance(event, Event):
            raise TypeError(f"not an event: {event!r}")


Stream.null = Stream(null=True)


class Event:
    """An event."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr = next(_handles)
        self.done = True

    def record(self, stream: Any = None) -> None:
        """Record the event. Raise TypeError for anything but a stream."""
        if not isinstance(stream, Stream | None):
            raise TypeError(f"not a stream: {stream!r}")

    def synchronize(self) -> None:
        """Do nothing: no work is pending."""

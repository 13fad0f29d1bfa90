"""Events of distributed programs: the calls of collectives (``torch/csrc/distributed/c10d/Ops.cpp``)."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Count, Position, Rank, Root, Time


class CollectiveCalled(Event, frozen=True):
    """A process hands a collective to the backend of a process group: the kernel of a ``c10d`` operator begins.

    Every rank of the group must call the same collectives in the same order. Sending and receiving between two ranks
    (``c10d::send``, ``c10d::recv_``) has no such event. It is only in recordings of distributed programs.
    """

    operator: str
    """Qualified name of the operator: ``c10d::allreduce_``."""
    group: str
    """Name of the process group; ``default`` for the one that ``init_process_group`` makes."""
    ranks: tuple[Rank, ...]
    """The global ranks of the group's members, in the order of their ranks in the group."""
    rank: Rank
    """The global rank of this process."""
    number: Position
    """The number of collectives that the recording saw in this group before."""
    elements: Count
    """Number of elements of the tensors that this process hands over."""
    dtype: str
    """The dtype of the first of them: ``float32``; empty if there is none."""
    root: Root
    """The global rank that sends (``broadcast``, ``scatter``) or receives (``reduce``, ``gather``); -1 if all ranks do
    the same.
    """
    time: Time
    """The time of the call in nanoseconds since 1970, by the clock of the machine."""

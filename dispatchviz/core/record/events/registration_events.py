"""Events of registrations while the program runs (``torch/library.h``)."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Count, CountOrUnknown


class OperatorDefined(Event, frozen=True):
    """An operator was defined (``Library::def``)."""

    operator: str
    """Qualified name of the operator: ``mylib::twice``."""
    schema: str
    """Its schema: ``mylib::twice(Tensor x) -> Tensor``."""
    by_fallbacks: CountOrUnknown = -1
    """Number of entries of the new dispatch table that hold a backend fallback; -1 in traces of older versions."""
    by_kernels: Count = 0
    """Number of entries that hold kernels that were registered before the definition."""


class KernelRegistered(Event, frozen=True):
    """A kernel was registered, or its registration removed (``Library::impl``, ``Library::fallback``)."""

    operator: str
    """Qualified name of the operator; empty for a backend fallback."""
    key: str
    """The key or alias of the registration: ``CPU``."""
    kernel: str
    """Name of the kernel; for a Python kernel, its function's name."""
    removed: bool
    """True if it was removed, not added."""


class CellsRecomputed(Event, frozen=True):
    """The registration just before changed entries of an operator's dispatch table
    (``OperatorEntry::updateDispatchTable_``).
    """

    operator: str
    """Qualified name of the operator."""
    cells: tuple[str, ...]
    """Runtime keys of the entries whose kernel changed."""

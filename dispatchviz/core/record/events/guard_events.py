"""Events of a thread's state: its include and exclude sets, grad mode and inference mode."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import KeySet


class GuardEntered(Container, frozen=True):
    """A guard changed the thread-local include and exclude sets. The event is open until ``GuardLeft``.

    The code is in ``c10/core/impl/LocalDispatchKeySet.h`` and ``aten/src/ATen/core/LegacyTypeDispatch.h``.
    """

    guard: str
    """Name of the guard's class: ``AutoDispatchBelowADInplaceOrView``. For a dispatch mode, which acts like a guard, it
    is the mode's class.
    """
    included_before: KeySet
    """The thread-local include set before, as a 64-bit number."""
    included: KeySet
    """The thread-local include set afterwards."""
    excluded_before: KeySet
    """The thread-local exclude set before, as a 64-bit number."""
    excluded: KeySet
    """The thread-local exclude set afterwards."""


class GuardLeft(Event, frozen=True):
    """The guard restored the saved sets. ``parent`` is its ``GuardEntered``."""

    guard: str
    """Name of the guard's class, as in its ``GuardEntered``."""
    included: KeySet
    """The restored include set, as a 64-bit number."""
    excluded: KeySet
    """The restored exclude set."""


class GradModeChanged(Event, frozen=True):
    """Grad mode of the thread was set. No key changes (``c10/core/GradMode.h``)."""

    enabled: bool
    """Grad mode afterwards."""
    why: str
    """The code that set it: ``torch.no_grad()``, ``leaving torch.no_grad()``, ``backward without create_graph``...
    Empty in a recording of an installed PyTorch, which reads grad mode at calls.
    """


class InferenceModeChanged(Event, frozen=True):
    """Inference mode of the thread was set (``c10/core/InferenceMode.h``)."""

    enabled: bool
    """Inference mode afterwards."""

"""Events of a thread's state: its key sets, grad mode and inference mode."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import KeySet


class GuardEntered(Container, frozen=True):
    """A guard changed the thread's key sets; open until ``GuardLeft``.

    ``c10/core/impl/LocalDispatchKeySet.h``, ``aten/src/ATen/core/LegacyTypeDispatch.h``.
    """

    guard: str
    """Name of the guard's class: ``AutoDispatchBelowADInplaceOrView``; of a dispatch mode, which acts like a guard, the
    mode's class."""
    included_before: KeySet
    """The thread's included key set until then, as a 64-bit number."""
    included: KeySet
    """The thread's included key set from here on."""
    excluded_before: KeySet
    """The thread's excluded key set until then, as a 64-bit number."""
    excluded: KeySet
    """The thread's excluded key set from here on."""


class GuardLeft(Event, frozen=True):
    """The guard restored the saved sets. ``parent`` is its ``GuardEntered``."""

    guard: str
    """Name of the guard's class, as in its ``GuardEntered``."""
    included: KeySet
    """The thread's included key set again, as a 64-bit number."""
    excluded: KeySet
    """The thread's excluded key set again."""


class GradModeChanged(Event, frozen=True):
    """Grad mode of the thread was switched; no key changes (``c10/core/GradMode.h``)."""

    enabled: bool
    """Grad mode from here on."""
    why: str
    """What switched it: ``torch.no_grad()``, ``leaving torch.no_grad()``, ``backward without create_graph``..."""


class InferenceModeChanged(Event, frozen=True):
    """Inference mode of the thread was switched (``c10/core/InferenceMode.h``)."""

    enabled: bool
    """Inference mode from here on."""

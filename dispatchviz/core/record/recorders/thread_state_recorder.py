"""The recorder of the thread's state: guards, grad and inference mode, streams, autocast, transforms, dual levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.tensor.tensor import Tensor


class ThreadStateRecorder(RecorderBase):
    """The recorder's methods for the state of the thread."""

    def guard_entered(self, guard: str, included_before: int, excluded_before: int, /) -> None:
        """Open the event of a guard. The thread already has the new sets."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_entered", guard, included_before, state.included, excluded_before, state.excluded))

    def guard_left(self, guard: str, /) -> None:
        """Record the end of a guard. The thread already has the saved sets again."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_left", guard, state.included, state.excluded))

    def grad_mode_changed(self, enabled: bool, why: str) -> None:
        """Record that grad mode was set."""
        self._emit(ev.GradModeChanged, enabled, why)

    def inference_mode_changed(self, enabled: bool) -> None:
        """Record that inference mode was set."""
        self._emit(ev.InferenceModeChanged, enabled)

    def dual_level_entered(self, level: int) -> None:
        """Record that a level of forward mode was entered."""
        self._emit(ev.DualLevelEntered, level)

    def dual_level_left(self, level: int, tangents: int) -> None:
        """Record that a level of forward mode was exited, which dropped ``tangents`` tangents."""
        self._emit(ev.DualLevelLeft, level, tangents)

    # -- streams ------------------------------------------------------------------------------------------------------

    def stream_changed(self, before: int, stream: int, why: str) -> None:
        """Record that the thread's current stream changed."""
        self._emit(ev.StreamChanged, before, stream, why)

    def stream_event_recorded(self, event: int, stream: int, why: ev.EventPurpose) -> None:
        """Record that a CUDA event was recorded in a stream."""
        self._emit(ev.StreamEventRecorded, event, stream, why)

    def stream_waited(self, stream: int, event: int, recorded_on: int, why: str) -> None:
        """Record that a stream waits for a CUDA event."""
        self._emit(ev.StreamWaited, stream, event, recorded_on, why)

    def memory_used_on_stream(self, tensor: Tensor, stream: int, why: ev.StreamUse) -> None:
        """Record ``record_stream``."""
        self._emit(ev.MemoryUsedOnStream, self._tensor(tensor), stream, why)

    # -- autocast -----------------------------------------------------------------------------------------------------

    def autocast_changed(self, device: str, enabled: bool, dtype: Any, excluded_before: int) -> None:
        """Record that autocast was enabled or disabled, or its dtype set. The thread already has the new set."""
        self._emit(ev.AutocastChanged, device, enabled, repr(dtype), excluded_before, thread.state.excluded)

    def autocast_cast(self, tensor: Tensor, result: Tensor, how: ev.CastMethod) -> None:
        """Record that an autocast kernel has cast an argument."""
        before, after = repr(tensor._dtype), repr(result._dtype)
        self._emit(ev.AutocastCast, self._tensor(tensor), before, after, self._tensor(result), how)

    def autocast_cache_cleared(self, casts: int) -> None:
        """Record that the cache is about to be cleared of ``casts`` casts."""
        self._emit(ev.AutocastCacheCleared, casts)

    # -- transforms ---------------------------------------------------------------------------------------------------

    def dynamic_layer_pushed(self, level: int, transform: ev.Transform, why: ev.PushReason) -> None:
        """Record that a transform was pushed onto the stack."""
        self._emit(ev.DynamicLayerPushed, level, transform, why, thread.state.included)

    def dynamic_layer_popped(self, level: int, transform: ev.Transform, why: ev.PopReason) -> None:
        """Record that a transform was popped off the stack."""
        self._emit(ev.DynamicLayerPopped, level, transform, why, thread.state.included)

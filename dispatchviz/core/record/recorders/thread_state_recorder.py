"""What changes in the thread's state: guards, grad and inference mode, streams, autocast, transforms, dual levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.tensor.tensor import Tensor


class ThreadStateRecorder(RecorderBase):
    """The state of the thread."""

    def guard_entered(self, guard: str, included_before: int, excluded_before: int, /) -> None:
        """Open a guard; the thread already has the new sets."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_entered", guard, included_before, state.included, excluded_before, state.excluded))

    def guard_left(self, guard: str, /) -> None:
        """The thread already has the saved sets again."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_left", guard, state.included, state.excluded))

    def grad_mode_changed(self, enabled: bool, why: str) -> None:
        """Grad mode was switched."""
        self._emit(ev.GradModeChanged, enabled, why)

    def inference_mode_changed(self, enabled: bool) -> None:
        """Inference mode was switched."""
        self._emit(ev.InferenceModeChanged, enabled)

    def dual_level_entered(self, level: int) -> None:
        """A level of forward mode is open."""
        self._emit(ev.DualLevelEntered, level)

    def dual_level_left(self, level: int, tangents: int) -> None:
        """It is closed, and so many tangents are gone."""
        self._emit(ev.DualLevelLeft, level, tangents)

    # -- streams ------------------------------------------------------------------------------------------------------

    def stream_changed(self, before: int, stream: int, why: str) -> None:
        """The thread is on another stream."""
        self._emit(ev.StreamChanged, before, stream, why)

    def stream_event_recorded(self, event: int, stream: int, why: ev.EventPurpose) -> None:
        """A CUDA event was put into a stream."""
        self._emit(ev.StreamEventRecorded, event, stream, why)

    def stream_waited(self, stream: int, event: int, recorded_on: int, why: str) -> None:
        """A stream waits for a CUDA event."""
        self._emit(ev.StreamWaited, stream, event, recorded_on, why)

    def memory_used_on_stream(self, tensor: Tensor, stream: int, why: ev.StreamUse) -> None:
        """``record_stream``"""
        self._emit(ev.MemoryUsedOnStream, self._tensor(tensor), stream, why)

    # -- autocast -----------------------------------------------------------------------------------------------------

    def autocast_changed(self, device: str, enabled: bool, dtype: Any, excluded_before: int) -> None:
        """Autocast was switched or its dtype set; the thread already has the new set."""
        self._emit(ev.AutocastChanged, device, enabled, repr(dtype), excluded_before, thread.state.excluded)

    def autocast_cast(self, tensor: Tensor, result: Tensor, how: ev.CastMethod) -> None:
        """An autocast kernel has cast an argument."""
        before, after = repr(tensor._dtype), repr(result._dtype)
        self._emit(ev.AutocastCast, self._tensor(tensor), before, after, self._tensor(result), how)

    def autocast_cache_cleared(self, casts: int) -> None:
        """The cache still has them."""
        self._emit(ev.AutocastCacheCleared, casts)

    # -- transforms ---------------------------------------------------------------------------------------------------

    def dynamic_layer_pushed(self, level: int, transform: ev.Transform, why: ev.PushReason) -> None:
        """A transform is on top of the stack."""
        self._emit(ev.DynamicLayerPushed, level, transform, why, thread.state.included)

    def dynamic_layer_popped(self, level: int, transform: ev.Transform, why: ev.PopReason) -> None:
        """A transform left the stack."""
        self._emit(ev.DynamicLayerPopped, level, transform, why, thread.state.included)

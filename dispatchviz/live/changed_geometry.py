"""Kernels that change the sizes or strides of a tensor: in-place views, ``resize_``, ``set_``, and those that write to
``out=``.

These kernels are watched at the backend keys, because the kernels above only pass the call down to that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.watched_operators import IN_PLACE_VIEWS

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.tensor_numbers import Numbered
    from dispatchviz.live.watched_operators import WatchedCell

Geometry = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes and strides."""

BACKENDS = frozenset({"CPU", "CUDA", "Meta"})
RESIZING = IN_PLACE_VIEWS | {"aten::resize_", "aten::resize_as_", "aten::set_"}
"""In-place operators, without overload names, that change sizes or strides."""
OUT_OVERLOADS = frozenset(
    ("L", "Q", "U", "X", "a", "dim_max", "dim_min", "dim_values", "eigenvalues", "eigvals", "grad_input", "inverse",
     "output", "result", "sign", "values", "values_stable")
)  # fmt: skip
"""Overloads that write to ``out=`` although ``out`` is not in their names."""


def may_resize(operator: str, key: str) -> bool:
    """Return whether a kernel may change the sizes or strides of a tensor that it writes to."""
    name, _, overload = operator.partition(".")
    return key in BACKENDS and (name in RESIZING or "out" in overload.lower() or overload in OUT_OVERLOADS)


def recording_geometry(watch: LiveRecorder, cell: WatchedCell, call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel so that the trace records each tensor whose sizes or strides it changes."""

    def records(*args: Any, **kwargs: Any) -> Any:
        if recorder.listening is not watch or not watch.thread.watched:
            return call(*args, **kwargs)
        before: list[tuple[Numbered, Geometry]] = []
        watch.guarded(lambda: before.extend(_geometries(watch, cell, args, kwargs)))
        result = call(*args, **kwargs)
        watch.guarded(lambda: _emit_changes(watch, before))
        return result

    return records


def _geometries(
    watch: LiveRecorder, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[Numbered, Geometry]]:
    """Yield the sizes and strides of each tensor that a call may write to."""
    for tensor in cell.operator.given(args, kwargs):
        known = watch.live_tensors.known.get(id(tensor))
        if known is not None and known() is tensor and (geometry := watch.facts.geometry(tensor)) is not None:
            known.reported = None
            yield known, geometry


def _emit_changes(watch: LiveRecorder, before: list[tuple[Numbered, Geometry]]) -> None:
    for known, old in before:
        tensor = known()
        new = None if tensor is None else watch.facts.geometry(tensor)
        if new is not None and new != old and new != known.reported:
            known.reported = new
            watch._emit(ev.GeometryChanged, known.number - watch.first_tensor, *new)

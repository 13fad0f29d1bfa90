"""Kernels that give a tensor other sizes or strides: views in place, ``resize_``, ``set_``, and those that write to
``out=``.

Such a kernel is watched at the keys of backends: what is around it hands the call on to that one.
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
"""In-place operators, without overloads, that change sizes or strides."""
OUT_OVERLOADS = frozenset(
    ("L", "Q", "U", "X", "a", "dim_max", "dim_min", "dim_values", "eigenvalues", "eigvals", "grad_input", "inverse",
     "output", "result", "sign", "values", "values_stable")
)  # fmt: skip
"""Overloads that write to ``out=``, besides those that have ``out`` in their names."""


def may_resize(operator: str, key: str) -> bool:
    """Return whether a kernel may give a tensor that it writes to other sizes or strides."""
    name, _, overload = operator.partition(".")
    return key in BACKENDS and (name in RESIZING or "out" in overload.lower() or overload in OUT_OVERLOADS)


def telling_geometry(watch: LiveRecorder, cell: WatchedCell, call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel so that the trace records each tensor whose sizes or strides it changes."""

    def tells(*args: Any, **kwargs: Any) -> Any:
        if recorder.listening is not watch or not watch.thread.watched:
            return call(*args, **kwargs)
        before: list[tuple[Numbered, Geometry]] = []
        watch.guarded(lambda: before.extend(_geometries(watch, cell, args, kwargs)))
        result = call(*args, **kwargs)
        watch.guarded(lambda: _tell(watch, before))
        return result

    return tells


def _geometries(
    watch: LiveRecorder, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[Numbered, Geometry]]:
    """The sizes and strides of every tensor that a call may write to."""
    for tensor in cell.operator.given(args, kwargs):
        known = watch.live_tensors.known.get(id(tensor))
        if known is not None and known() is tensor and (geometry := watch.facts.geometry(tensor)) is not None:
            known.told = None
            yield known, geometry


def _tell(watch: LiveRecorder, before: list[tuple[Numbered, Geometry]]) -> None:
    for known, old in before:
        tensor = known()
        new = None if tensor is None else watch.facts.geometry(tensor)
        if new is not None and new != old and new != known.told:
            known.told = new
            watch._emit(ev.GeometryChanged, known.number - watch.first_tensor, *new)

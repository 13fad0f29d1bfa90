"""The choice of a picture: the kinds that the command line and ``Trace`` offer besides the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import numbers_of_steps
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
from dispatchviz.outputs.picture.graph_picture import Picture, backward_graph, picture
from dispatchviz.outputs.picture.picture_options import USUAL, Options
from dispatchviz.outputs.picture.svg import RenderError
from dispatchviz.outputs.picture.svg_picture import SvgPicture

Kind = Literal["backward", "calls", "decision", "table", "classes", "memory"]
"""The backward graph; the forward calls; the dispatch of one call; its operator's table; its kernel's classes; the
memory of saved tensors.
"""

KINDS: tuple[Kind, ...] = ("backward", "calls", "decision", "table", "classes", "memory")


class Chosen(Struct, frozen=True):
    """The requested picture."""

    kind: Kind = "backward"
    steps: tuple[int, int] | None = None
    """The first and the last step, which are equal for a single step. None means the usual steps for the kind."""
    folded: bool | None = None
    """The argument ``folded`` of ``BackwardGraph.render``, for a backward graph."""
    expand: tuple[str, ...] = ()
    options: Options = USUAL


def chosen_picture(trace: Trace, suffix: str, chosen: Chosen) -> Picture:
    """Return the content of a file with one of ``picture_file.SUFFIXES``.

    Raise RenderError if the step has nothing to draw or if a program that draws is missing. Raise DispatchvizError if
    ``expand`` names no Node.
    """
    _check_steps(trace, chosen)
    if chosen.kind == "backward":
        first, last = chosen.steps or (None, None)
        options = replace(chosen.options, since=None if first == last else first)
        return picture(backward_graph(trace, last), suffix, chosen.folded, chosen.expand, options)
    drawn = memory(trace, chosen.steps) if chosen.kind == "memory" else drawn_picture(trace, chosen.kind, chosen.steps)
    return Picture(drawn.data(suffix, chosen.options.theme), drawn.note)


def memory(trace: Trace, steps: tuple[int, int] | None) -> SvgPicture:
    """Return the picture of the memory of saved tensors. Raise RenderError if none is kept there."""
    from dispatchviz.outputs.picture.memory_picture import memory_picture

    return memory_picture(trace, steps)


def _check_steps(trace: Trace, chosen: Chosen) -> None:
    if chosen.steps is None:
        return
    first, last = chosen.steps
    if not 0 <= first <= last < len(trace):
        steps = f"step {first}" if first == last else f"steps {first}-{last}"
        raise RenderError(f"there is no {steps}: the trace has the steps {numbers_of_steps(len(trace))}")


def drawn_picture(trace: Trace, kind: Kind, steps: tuple[int, int] | None) -> DrawnPicture:
    """Return a picture that Graphviz draws, but not a backward graph. Raise RenderError if the step has nothing to
    draw.
    """
    if kind == "calls":
        from dispatchviz.outputs.picture.call_picture import call_picture

        return call_picture(trace, *(_around(trace, steps) if steps else ()))
    step = steps[0] if steps else _first_call(trace, kind)
    return _OF_STEP[kind](trace, step)


def _around(trace: Trace, steps: tuple[int, int]) -> tuple[int, int]:
    """Return the steps of the picture. For a single step they are those of the outermost call around it, or those of
    its line.
    """
    first, last = steps
    if first != last:
        return steps
    from dispatchviz.core.record import events as ev
    from dispatchviz.explain.trace_index import statements

    calls = [event.seq for event in (trace[first], *trace.ancestors(first)) if isinstance(event, ev.Dispatched)]
    outer = calls[-1] if calls else first
    return outer, trace.ends[outer] if calls else statements.end(trace, first)


def _first_call(trace: Trace, kind: Kind) -> int:
    from dispatchviz.core.record import events as ev

    steps = trace.steps_of(ev.Dispatched)
    if not steps:
        raise RenderError(f"nothing to draw: the trace has no call of an operator, so no {kind}")
    return steps[0]


def _decision(trace: Trace, step: int) -> DrawnPicture:
    from dispatchviz.outputs.picture.decision_picture import decision_picture

    return decision_picture(trace, step)


def _table(trace: Trace, step: int) -> DrawnPicture:
    from dispatchviz.outputs.picture.called_table import called_table

    return called_table(trace, step)


def _classes(trace: Trace, step: int) -> DrawnPicture:
    from dispatchviz.explain.codegen.operator_at_step import operator_at
    from dispatchviz.explain.codegen.structured_classes import family_of
    from dispatchviz.outputs.picture.structured_picture import class_drawing

    operator = operator_at(trace, step)
    family = family_of(operator.removeprefix("aten::")) if operator else None
    if family is None:
        what = f"{operator}, which has no structured kernel" if operator else "no operator"
        raise RenderError(f"nothing to draw: step {step} is about {what}")
    return DrawnPicture(class_drawing(family))


_OF_STEP: dict[str, Callable[[Trace, int], DrawnPicture]] = {
    "decision": _decision,
    "table": _table,
    "classes": _classes,
}

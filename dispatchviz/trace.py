"""The trace that users hold: the core's value with methods for its screen and its pictures.

``core/record/trace_file`` has the value itself and the file format. ``running/recording.py`` and ``running/program.py``
create traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.record import trace_file as core
from dispatchviz.core.record.trace_file import TraceError

if TYPE_CHECKING:
    from dispatchviz.outputs.picture.chosen_picture import Kind
    from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
    from dispatchviz.outputs.picture.graph_picture import BackwardGraph
    from dispatchviz.outputs.picture.svg_picture import SvgPicture

__all__ = ["Trace", "TraceError"]


class Trace(core.Trace):
    """An immutable recording; ``trace[i]`` is the event with ``seq == i``."""

    def show(self, step: int | None = None) -> None:
        """Open the stepper at the beginning or at ``step``. Without a terminal, print the log or the step."""
        from dispatchviz.tui.show import show

        show(self, step)

    def __repr__(self) -> str:
        from dispatchviz.outputs.cell.trace_card import trace_text

        return trace_text(self)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows and saves; it needs no kernel."""
        from dispatchviz.outputs.cell.trace_card import trace_html
        from dispatchviz.outputs.page.in_notebook import notebook_player

        return trace_html(self, player=notebook_player(self))

    def _repr_svg_(self) -> str | None:
        from dispatchviz.outputs.cell.trace_card import trace_svg

        return trace_svg(self)

    def _repr_markdown_(self) -> str:
        from dispatchviz.outputs.cell.trace_card import trace_markdown

        return trace_markdown(self)

    def backward_graph(self, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
        """Return the graph of backward Nodes; ``.render(path)`` writes it as ``.svg``, ``.dot``, ``.png`` or ``.pdf``.

        ``at`` is a step, by default the end. ``of`` is the number of a backward pass or ``"all"``, by default the last
        one.
        """
        from dispatchviz.outputs.picture.graph_picture import backward_graph
        from dispatchviz.outputs.without_folders import without_folders

        return backward_graph(without_folders(self), at, of)

    def call_graph(self, first: int = 0, last: int | None = None) -> DrawnPicture:
        """Draw the operator calls between two steps, outside of backward passes; ``.render(path)`` writes the picture.

        Raise RenderError if there are none.
        """
        from dispatchviz.outputs.picture.call_picture import call_picture
        from dispatchviz.outputs.without_folders import without_folders

        return call_picture(without_folders(self), first, last)

    def decision(self, step: int) -> DrawnPicture:
        """Draw how the call at a step is dispatched: key sets, dispatch table entry, kernel. Raise RenderError if there
        is no call.
        """
        return self._of_step("decision", step)

    def operator_table(self, step: int) -> DrawnPicture:
        """Draw the dispatch table of the operator at a step, and how it is filled. Raise RenderError if there is
        none.
        """
        return self._of_step("table", step)

    def structured_classes(self, step: int) -> DrawnPicture:
        """Draw the classes of the structured kernel at a step. Raise RenderError if the operator there has none."""
        return self._of_step("classes", step)

    def saved_memory(self, first: int | None = None, last: int | None = None) -> SvgPicture:
        """Draw the memory of the tensors saved for backward over the steps ``first`` to ``last``, and the storages that
        are kept at the peak. With only ``first``, draw the whole trace with the storages that are kept at that step.

        Raise RenderError if no saved tensor is kept there.
        """
        from dispatchviz.outputs.picture.memory_picture import memory_picture
        from dispatchviz.outputs.without_folders import without_folders

        begin = first or 0
        steps = None if first is None and last is None else (begin, begin if last is None else last)
        return memory_picture(without_folders(self), steps)

    def _of_step(self, kind: Kind, step: int) -> DrawnPicture:
        from dispatchviz.outputs.picture.chosen_picture import drawn_picture
        from dispatchviz.outputs.without_folders import without_folders

        return drawn_picture(without_folders(self), kind, (step, step))

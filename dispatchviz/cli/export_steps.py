"""What ``export`` writes of some steps: the log as text, or a hand-out with its pictures in a folder beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_counts import numbers_of_steps
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import print_lines
from dispatchviz.outputs.files import HAND_OUTS, STANDARD_OUTPUT, STEPS_MARK, check_picture, write_bytes, write_text
from dispatchviz.outputs.without_folders import without_folders

RANGE = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


@dataclass(frozen=True)
class Steps:
    """What of a trace is wanted."""

    steps: str | None = None
    """``45`` or ``45-80``."""
    level: str | None = None
    views: tuple[str, ...] = ()

    @property
    def given(self) -> list[str]:
        """The options."""
        values = {"--steps": self.steps, "--level": self.level, "--view": self.views}
        return [option for option, value in values.items() if value]

    def check(self) -> None:
        """DispatchvizError for what is no range, and for a view that there is not."""
        from dispatchviz.outputs.step.step_text import check_view

        if self.steps is not None and RANGE.fullmatch(self.steps) is None:
            raise DispatchvizError(f"--steps {self.steps}: write a step such as 45, or 45-80")
        for view in self.views:
            check_view(view)

    def range(self, trace: Trace) -> range:
        """The steps, of which a trace has some. DispatchvizError if it has none of them."""
        if self.steps is None:
            return range(len(trace))
        match = RANGE.fullmatch(self.steps)
        assert match is not None
        first = int(match["first"])
        chosen = range(first, min(int(match["last"] or first) + 1, len(trace)))
        if not chosen:
            raise DispatchvizError(
                f"--steps {self.steps}: the steps of {trace.header.program} are {numbers_of_steps(len(trace))}"
            )
        return chosen


def pictures_folder(output: str) -> str:
    """The folder of a hand-out's pictures, beside it: its name without the suffix, and ``_files``."""
    return f"{Path(output).with_suffix('')}_files"


def check_pictures_folder(output: str) -> None:
    """DispatchvizError if there is a file of that name."""
    folder = Path(pictures_folder(output))
    if folder.exists() and not folder.is_dir():
        raise DispatchvizError(f"{folder} is there and is no folder, where the pictures of {output} would be")


def export_steps(trace: Trace, output: str, form: str, wanted: Steps) -> None:
    """Writes them. DispatchvizError if that cannot be done, or a file in the way is none of ours."""
    trace = without_folders(trace)
    lines = _log(trace, wanted) if form not in HAND_OUTS else _hand_out(trace, output, wanted)
    if output == STANDARD_OUTPUT:
        print_lines(lines)
    else:
        write_text(output, lines)


def _log(trace: Trace, wanted: Steps) -> Iterator[str]:
    from dispatchviz.outputs.log.log_filter import EVERYTHING, LogFilter
    from dispatchviz.outputs.log.text_log import text_log

    only = LogFilter(wanted.level or EVERYTHING)
    chosen = wanted.range(trace)
    if wanted.steps is None:
        yield from text_log(trace, 0, only)
        return
    yield from text_log(trace, chosen.start, only, until=chosen.stop)


def _hand_out(trace: Trace, output: str, wanted: Steps) -> Iterator[str]:
    from dispatchviz.outputs.hand_out.steps_page import LEVEL, StepsPage
    from dispatchviz.outputs.log.log_filter import LogFilter

    on_paper = output == STANDARD_OUTPUT
    folder = "" if on_paper else pictures_folder(output)
    page = StepsPage(
        trace,
        wanted.range(trace),
        LogFilter(wanted.level or LEVEL),
        [(title, _view(trace, view)) for view, title in _titles(wanted.views)],
        None if on_paper else _graph,
        Path(folder).name,
    )
    lines = list(page.lines())
    for name, data in page.pictures.items():
        path = f"{folder}/{name}"
        Path(folder).mkdir(parents=True, exist_ok=True)
        check_picture(path, ".svg")
        write_bytes(path, data)
    yield from (STEPS_MARK, "", *lines) if not on_paper else lines


def _titles(views: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return ((view, view.replace("-", " ").capitalize()) for view in views)


def _view(trace: Trace, view: str) -> Callable[[int], str]:
    from dispatchviz.outputs.step.step_text import view_text

    return lambda step: view_text(trace, step, view)


def _graph(trace: Trace, at: int) -> bytes:
    """Empty before there is one."""
    from dispatchviz.outputs.picture.graph_picture import backward_graph, picture

    graph = backward_graph(trace, at)
    return picture(graph, ".svg").data if len(graph) else b""

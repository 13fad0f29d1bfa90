"""Hand-outs of steps as Markdown, with their pictures in a folder beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import print_lines
from dispatchviz.outputs.chosen_steps import Steps
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.picture.format import check_picture
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, write_bytes, write_text

HAND_OUT_MARK = "<!-- Written by dispatchviz lesson, which writes over it; without this line it does not. -->"
"""The first line of a lesson's hand-out. It is invisible in rendered Markdown."""

STEPS_MARK = "<!-- Written by dispatchviz export, which writes over it; without this line it does not. -->"
"""The first line of a hand-out of steps."""


def check_hand_out(path: str) -> None:
    """Raise DispatchvizError if a lesson's hand-out cannot be written there, or if it would replace another kind of
    file.
    """
    if path != STANDARD_OUTPUT:
        check_place(path, "hand-out from dispatchviz", lambda raw: raw.startswith(HAND_OUT_MARK.encode()))


def _check(path: str, suffix: str) -> None:
    folder = Path(pictures_folder(path))
    if folder.exists() and not folder.is_dir():
        raise DispatchvizError(f"cannot write the pictures of {path}: {folder} exists and is not a folder")
    check_place(path, "hand-out of steps from dispatchviz", lambda raw: raw.startswith(STEPS_MARK.encode()))


def pictures_folder(path: str) -> str:
    """Return the folder of a hand-out's pictures, beside it: its name without the suffix, and ``_files``."""
    return f"{Path(path).with_suffix('')}_files"


def _write(trace: Trace, request: Request) -> str:
    lines = _lines(without_folders(trace), request.path, request.steps)
    if request.path == STANDARD_OUTPUT:
        print_lines(lines)
    else:
        write_text(request.path, lines)
    return ""


def _lines(trace: Trace, path: str, wanted: Steps) -> Iterator[str]:
    from dispatchviz.outputs.hand_out.steps_page import LEVEL, StepsPage
    from dispatchviz.outputs.log.log_filter import LogFilter

    on_paper = path == STANDARD_OUTPUT
    folder = "" if on_paper else pictures_folder(path)
    page = StepsPage(
        trace,
        wanted.range(trace),
        LogFilter(wanted.level or LEVEL),
        [(view.replace("-", " ").capitalize(), _view(trace, view)) for view in wanted.views],
        None if on_paper else _graph,
        Path(folder).name,
    )
    lines = list(page.lines())
    for name, data in page.pictures.items():
        picture = f"{folder}/{name}"
        Path(folder).mkdir(parents=True, exist_ok=True)
        check_picture(picture, ".svg")
        write_bytes(picture, data)
    yield from (STEPS_MARK, "", *lines) if not on_paper else lines


def _view(trace: Trace, view: str) -> Callable[[int], str]:
    from dispatchviz.outputs.step.step_text import view_text

    return lambda step: view_text(trace, step, view)


def _graph(trace: Trace, at: int) -> bytes:
    """Return the backward graph as SVG; empty if there is none yet."""
    from dispatchviz.outputs.picture.graph_picture import backward_graph, picture

    graph = backward_graph(trace, at)
    return picture(graph, ".svg").data if len(graph) else b""


HAND_OUT = Format(
    suffixes=(".md",),
    named="a hand-out",
    help="a hand-out of steps, with pictures in a folder beside it",
    docs="docs/how-to/share.md",
    check=_check,
    write=_write,
    options=frozenset({"--steps", "--level", "--view"}),
)

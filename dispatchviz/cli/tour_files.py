"""The tour of the documentation, and other recordings: their files, their content, and which files are stale."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import folder
from dispatchviz.outputs.picture.format import check_picture
from dispatchviz.outputs.written_files import write_text
from dispatchviz.running.program import run
from dispatchviz.tui.played.cast_file import cast, check_cast, shown_screens
from dispatchviz.tui.played.played_keys import Screen, played, texts


class Stop(NamedTuple):
    """A screen of the tour: the keys that lead to it, and a text about it."""

    name: str
    title: str
    program: str
    keys: tuple[str, ...]
    text: str
    size: tuple[int, int] = (120, 40)


STOPS = (
    Stop(
        "first",
        "The first screen",
        "forum",
        (),
        "The stepper opens where autograd begins: at the call that creates the first Node. It shows why AutogradCUDA "
        "is in the key set.",
        (80, 24),
    ),
    Stop(
        "node",
        "`]` `n`: the first Node",
        "forum",
        ("right_square_bracket", "n"),
        "Every pane shows the same step: the key set and the key that won, the dispatch table entry and why it holds "
        "its kernel, the call stack in PyTorch's names, the line of the kernel that runs, and the graph so far.",
    ),
    Stop(
        "engine",
        "`]` `b`: the engine runs a Node",
        "forum",
        ("right_square_bracket", "b"),
        "The backward pass is one row. The Nodes that it runs are rows inside it, in the order in which they ran.",
    ),
    Stop(
        "loop",
        "A training loop",
        "mlp",
        ("g", "c", "c"),
        "The iterations of a loop are one row until you unfold them. The row counts what happened in them.",
        (100, 30),
    ),
    Stop(
        "error",
        "A program that raises",
        "inplace_error",
        (),
        "The trace opens at its end. The reason comes first: which Node saved the tensor, and which line changed it.",
        (100, 30),
    ),
    Stop(
        "wide",
        "200 columns",
        "autocast",
        ("right_square_bracket", "r"),
        "A wide terminal has space for everything that belongs to a step.",
        (200, 60),
    ),
)
"""The screens, in the order in which a newcomer meets them."""


CAST = Stop(
    "tour",
    "The founding question, key by key",
    "forum",
    ("right_square_bracket", "n", "s", "s", "s", "right_square_bracket", "b", "s", "n", "n"),
    "Why AutogradCUDA runs first, what it leaves behind, and how the engine walks back.",
    (100, 30),
)
"""The recording of the tour."""

Files = Mapping[str, str]
"""Contents by path."""


def tour_files(output: str) -> dict[str, str]:
    """Return all files of the tour, in a folder."""
    made = {str(Path(output, f"{stop.name}.svg")): picture(stop) for stop in STOPS}
    return made | {str(Path(output, f"{CAST.name}.cast")): recording(CAST)}


def picture(stop: Stop) -> str:
    """Return a screen of the tour as SVG."""
    return played(_trace(stop), stop.keys, stop.size, [_script(stop)])[1]


def recording(stop: Stop) -> str:
    """Return the way to a screen as a cast."""
    screens, _ = played(_trace(stop), stop.keys, stop.size, [_script(stop)])
    return cast(screens, stop.size, f"dispatchviz run {_script(stop)}")


def one_file(output: str, trace: Trace, source: str, keys: Sequence[str], size: tuple[int, int]) -> dict[str, str]:
    """Return a recording or a picture of any program. Raise DispatchvizError for another suffix, or if another kind of
    file is there.
    """
    if output.lower().endswith(".cast"):
        check_cast(output)
        screens, _ = _played(trace, keys, size, source)
        return {output: cast(screens, size, f"dispatchviz run {source}")}
    if output.lower().endswith(".svg"):
        check_picture(output, ".svg")
        return {output: _played(trace, keys, size, source)[1]}
    raise DispatchvizError(f"cannot write {output}. Recordings: .cast; pictures: .svg")


def check_tour(output: str) -> None:
    """Raise DispatchvizError if the tour would replace other files, or a file is where its folder should be."""
    if os.path.exists(output) and not os.path.isdir(output):
        raise DispatchvizError(f"{output} exists and is not a folder; the tour is written into a folder")
    if os.path.isdir(output):
        for stop in STOPS:
            check_picture(str(Path(output, f"{stop.name}.svg")), ".svg")
        check_cast(str(Path(output, f"{CAST.name}.cast")))


def write_all(made: Files) -> None:
    """Write all files. Raise DispatchvizError if one cannot be written."""
    for path, text in made.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text.split("\n")[:-1])


def stale(made: Files) -> list[str]:
    """Return the files that are missing or show other text."""
    return [path for path, text in made.items() if not os.path.isfile(path) or _words(path) != _shown(path, text)]


def _words(path: str) -> list[str]:
    return _shown(path, Path(path).read_text("utf-8", "replace"))


def _shown(path: str, text: str) -> list[str]:
    """Return the readable text of a file. Marks and colors change with the release of the libraries that paint."""
    return texts(text) if path.lower().endswith(".svg") else shown_screens(text)


def _played(trace: Trace, keys: Sequence[str], size: tuple[int, int], source: str) -> tuple[list[Screen], str]:
    return played(trace, [NAMED.get(key, key) for key in keys], size, [source])


NAMED = {
    "]": "right_square_bracket",
    "[": "left_square_bracket",
    ".": "full_stop",
    ",": "comma",
    ":": "colon",
    "/": "slash",
    "?": "question_mark",
}
"""Textual's names for the keys that are not letters."""


def _trace(stop: Stop) -> Trace:
    """Run the shipped program under the file name that it has everywhere, and return its trace."""
    before = Path.cwd()
    os.chdir(folder().parent)
    try:
        return run(_script(stop), (), io.StringIO(), **SMALL._asdict()).trace
    finally:
        os.chdir(before)


def _script(stop: Stop) -> str:
    return f"examples/{stop.program}.py"

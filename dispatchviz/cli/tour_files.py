"""The tour of the documentation, and other recordings: which files there are, what is in them, which are stale."""

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
    """A screen of the tour: how to come there, and what to see."""

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
        "It opens where autograd begins, at the call that makes the first Node: why AutogradCUDA is there at all.",
        (80, 24),
    ),
    Stop(
        "node",
        "`]` `n`: the first Node",
        "forum",
        ("right_square_bracket", "n"),
        "One step drives every pane: the key set and who won, the cell and why it holds that kernel, the call stack in "
        "PyTorch's names, the line of the kernel that runs, the graph as far as it is built.",
    ),
    Stop(
        "engine",
        "`]` `b`: the engine runs a Node",
        "forum",
        ("right_square_bracket", "b"),
        "Backward is a row, and the Nodes that it runs are rows in it, in the order in which they ran.",
    ),
    Stop(
        "loop",
        "A training loop",
        "mlp",
        ("g", "c", "c"),
        "Turns of a loop are one row until they are unfolded; a row counts what happened in it.",
        (100, 30),
    ),
    Stop(
        "error",
        "A program that raises",
        "inplace_error",
        (),
        "The trace opens at its end. The reason comes first: who saved the tensor, which line changed it.",
        (100, 30),
    ),
    Stop(
        "wide",
        "200 columns",
        "autocast",
        ("right_square_bracket", "r"),
        "A wide terminal has room for all that a step needs.",
        (200, 60),
    ),
)
"""In the order in which a newcomer meets them."""


CAST = Stop(
    "tour",
    "The founding question, key by key",
    "forum",
    ("right_square_bracket", "n", "s", "s", "s", "right_square_bracket", "b", "s", "n", "n"),
    "Why AutogradCUDA runs first, what it leaves behind, and how the engine walks back.",
    (100, 30),
)
"""What is recorded besides."""

Files = Mapping[str, str]
"""Path to content."""


def tour_files(output: str) -> dict[str, str]:
    """All of the tour, in a folder."""
    made = {str(Path(output, f"{stop.name}.svg")): picture(stop) for stop in STOPS}
    return made | {str(Path(output, f"{CAST.name}.cast")): recording(CAST)}


def picture(stop: Stop) -> str:
    """A screen of the tour as SVG."""
    return played(_trace(stop), stop.keys, stop.size, [_script(stop)])[1]


def recording(stop: Stop) -> str:
    """The way there as a cast."""
    screens, _ = played(_trace(stop), stop.keys, stop.size, [_script(stop)])
    return cast(screens, stop.size, f"dispatchviz run {_script(stop)}")


def one_file(output: str, trace: Trace, source: str, keys: Sequence[str], size: tuple[int, int]) -> dict[str, str]:
    """A recording or a picture of any program. DispatchvizError for another kind, or a file that is none of ours."""
    if output.lower().endswith(".cast"):
        check_cast(output)
        screens, _ = _played(trace, keys, size, source)
        return {output: cast(screens, size, f"dispatchviz run {source}")}
    if output.lower().endswith(".svg"):
        check_picture(output, ".svg")
        return {output: _played(trace, keys, size, source)[1]}
    raise DispatchvizError(f"cannot write {output}: a recording is .cast, a picture .svg")


def check_tour(output: str) -> None:
    """DispatchvizError if a file of the tour would replace one that is none, or there is a file instead of a folder."""
    if os.path.exists(output) and not os.path.isdir(output):
        raise DispatchvizError(f"{output} is there and is no folder, which the tour is written into")
    if os.path.isdir(output):
        for stop in STOPS:
            check_picture(str(Path(output, f"{stop.name}.svg")), ".svg")
        check_cast(str(Path(output, f"{CAST.name}.cast")))


def write_all(made: Files) -> None:
    """Write them. DispatchvizError if one cannot be written."""
    for path, text in made.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text.split("\n")[:-1])


def stale(made: Files) -> list[str]:
    """Those that are not there, or show other words."""
    return [path for path, text in made.items() if not os.path.isfile(path) or _words(path) != _shown(path, text)]


def _words(path: str) -> list[str]:
    return _shown(path, Path(path).read_text("utf-8", "replace"))


def _shown(path: str, text: str) -> list[str]:
    """What can be read: marks and colors differ from release to release of the libraries that paint."""
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
"""What Textual calls the keys that have no letter."""


def _trace(stop: Stop) -> Trace:
    """Of the program that ships, under the name that it has everywhere."""
    before = Path.cwd()
    os.chdir(folder().parent)
    try:
        return run(_script(stop), (), io.StringIO(), **SMALL._asdict()).trace
    finally:
        os.chdir(before)


def _script(stop: Stop) -> str:
    return f"examples/{stop.program}.py"

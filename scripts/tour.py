"""A script that writes ``docs/tour.md`` and its pictures: the stepper's screens, in a newcomer's order.

``python -m scripts.tour`` writes all of it again, including the recording. The files are those of ``dispatchviz
record-tour``.
"""

from __future__ import annotations

from pathlib import Path

from dispatchviz.cli.tour_files import CAST, STOPS, Stop, picture, tour_files, write_all
from dispatchviz.tui.played.played_keys import without_fonts

__all__ = [
    "ANIMATION",
    "CAST",
    "FRAMES",
    "PAGE",
    "PICTURES",
    "STOPS",
    "Stop",
    "animation",
    "page",
    "picture",
    "without_fonts",
]

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "tour.md", ROOT / "docs" / "tour"
ANIMATION = PICTURES / "steps.svg"


FRAMES: tuple[tuple[str, ...], ...] = (
    (),
    ("right_square_bracket", "n"),
    ("right_square_bracket", "n", "right_square_bracket", "r"),
    ("right_square_bracket", "b"),
)
"""The keys before each frame of the animation: the call, its Node, the redispatch to CUDA, the engine."""

SECONDS = 4
"""The time of each frame."""

_ANIMATION = """<style>
.later {{ opacity: 0; animation: later {total}s step-end infinite }}
@keyframes later {{ 0% {{ opacity: 1 }} {share}% {{ opacity: 0 }} }}
@media (prefers-reduced-motion) {{ .later {{ animation: none }} }}
</style>"""


def animation() -> str:
    """An SVG that shows the frames one after the other; without animation it shows the first."""
    frames = [picture(Stop("", "", "forum", keys, "", (100, 30))) for keys in FRAMES]
    style = _ANIMATION.format(total=SECONDS * len(frames), share=100 / len(frames))
    later = (
        f'<g class="later" style="animation-delay: {SECONDS * number}s">{frame}</g>'
        for number, frame in enumerate(frames[1:], 1)
    )
    opening = frames[0].partition(">")[0].replace('class="rich-terminal" ', "")
    return "\n".join([f"{opening}>", style, frames[0], *later, "</svg>\n"])


def page() -> str:
    """Return the text around the pictures."""
    parts = [
        "# A tour of the stepper",
        "`python -m scripts.tour` writes this page and its pictures. `dispatchviz record-tour` records your own tour.",
        "    dispatchviz run examples/forum.py",
    ]
    for stop in STOPS:
        parts += [f"## {stop.title}", f"{stop.text} (`examples/{stop.program}.py`, {stop.size[0]}x{stop.size[1]})"]
        parts += [f"![{stop.title}](tour/{stop.name}.svg)"]
    parts += [f"## {CAST.title}", f"{CAST.text} `asciinema play docs/tour/{CAST.name}.cast` plays it in a terminal."]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page and the pictures."""
    write_all(tour_files(str(PICTURES)))
    ANIMATION.write_text(animation(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

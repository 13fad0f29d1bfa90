"""A script that writes ``docs/tour.md`` and its pictures: the stepper's screens, in a newcomer's order.

``python -m scripts.tour`` writes all of it again, including the recording. The files are those of ``dispatchviz
record-tour``.
"""

from __future__ import annotations

from pathlib import Path

from dispatchviz.cli.tour_files import CAST, STOPS, Stop, picture, tour_files, write_all
from dispatchviz.tui.played.played_keys import without_fonts

__all__ = ["CAST", "PAGE", "PICTURES", "STOPS", "Stop", "page", "picture", "without_fonts"]

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "tour.md", ROOT / "docs" / "tour"


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
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Several processes of one program, shown side by side."""

from __future__ import annotations

from collections.abc import Sequence


def show_lanes(files: Sequence[str], plain: bool, pager: bool) -> None:
    """Open the screen with a lane for each process, or print the lanes."""
    print(files)

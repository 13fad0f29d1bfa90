"""The text of ``why OP KEY --since``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.explain.cells.releases.entry_history import EntryHistory
from dispatchviz.explain.cells.releases.release import all_releases
from dispatchviz.views.text.console import Console


def since_lines(histories: Sequence[EntryHistory], build: str, console: Console) -> Iterator[str]:
    """Yield, for each entry, a sentence for each change from the oldest release to the newest."""
    oldest, *_, newest = (release.minor for release in all_releases())
    for number, history in enumerate(histories):
        yield from [""] * bool(number)
        title = console.heading(f"{history.operator}  {history.key}")
        yield f"{title}  (PyTorch {oldest} to {newest}, build {build})"
        for sentence in history.sentences:
            yield from console.wrapped(sentence)

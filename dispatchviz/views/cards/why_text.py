"""The text of ``why OP KEY``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dispatchviz.explain.cells.cell_changes import Change
from dispatchviz.explain.cells.why_cell import CellAnswer
from dispatchviz.views.text.console import Console

if TYPE_CHECKING:
    from dispatchviz.explain.cells.releases.release import Release


def why_lines(answer: CellAnswer, build: str, console: Console, past: Release | None = None) -> Iterator[str]:
    """Yield the answer part by part. ``past`` is the older release that it is about."""
    release, entries = ("", 137) if past is None else (f"PyTorch {past.number}, ", len(past.keys))
    where = f"table entry {answer.cell} of {entries}, {release}build {build}"
    yield console.heading(f"{answer.operator}  {answer.key}") + f"  ({where})"
    yield ""
    yield from _kernel(answer, console)
    yield from _part("Why", [answer.why], console)
    yield ""
    yield console.heading("Kernels that could fill this entry, best first")
    yield from _claims(answer, console)
    if answer.called:
        yield from _part("When it is called", answer.called, console)
    if past is None:
        yield ""
        yield console.heading("What would change it (tried on a copy of the operator)")
        for change in answer.changes:
            yield from _change(change, console)
    command = f"dispatchviz table {answer.operator}{f' --release {past.minor}' if past else ''}"
    yield from _part("The whole table", [f"{answer.table} All entries: {command}"], console)
    if past is not None:
        since = f"dispatchviz why {answer.operator} {answer.key} --since"
        yield from _part("Other releases", [f"When the entry changed: {since}"], console)


def _kernel(answer: CellAnswer, console: Console) -> Iterator[str]:
    if not answer.kernel:
        yield from console.wrapped(f"✗ no kernel  [{answer.reason}]: {answer.tag}", 2, 4)
        return
    yield f"  {console.styled(answer.kernel, 'bold')}  [{answer.reason}]"
    yield from console.wrapped(f"[{answer.reason}]: {answer.tag}.", 2, 4)
    under = f", under {answer.source}" if answer.source != answer.key else ""
    yield from console.wrapped(f"{answer.registered}{under}", 2, 4)


def _part(title: str, texts: list[str] | tuple[str, ...], console: Console) -> Iterator[str]:
    yield ""
    yield console.heading(title)
    for text in texts:
        yield from console.wrapped(text)


def _claims(answer: CellAnswer, console: Console) -> Iterator[str]:
    rows = []
    for claim in answer.claims:
        sign = "✓" if claim.taken else "–"
        named = f": {claim.kernel}" if claim.kernel else ""
        rows.append((f"{sign} {claim.source}", claim.outcome + named))
    yield from console.columns(rows)


def _change(change: Change, console: Console) -> Iterator[str]:
    yield f"  {console.styled(change.what, 'cyan')} under {change.under}"
    yield from console.wrapped(" ".join(change.sentences), 4)

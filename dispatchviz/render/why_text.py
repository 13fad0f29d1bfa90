"""``why OP KEY`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.explain.cells.cell_changes import Change
from dispatchviz.explain.cells.why_cell import CellAnswer
from dispatchviz.render.plain import Paper


def why_lines(answer: CellAnswer, build: str, paper: Paper) -> Iterator[str]:
    """The answer, part by part."""
    yield paper.heading(f"{answer.operator}  {answer.key}") + f"  (cell {answer.cell} of 137, build {build})"
    yield ""
    yield from _kernel(answer, paper)
    yield from _part("Why", [answer.why], paper)
    yield ""
    yield paper.heading("Claims to the cell, best first")
    yield from _claims(answer, paper)
    yield from _part("When it is called", answer.called, paper)
    yield ""
    yield paper.heading("What would change it (tried on a copy of the operator)")
    for change in answer.changes:
        yield from _change(change, paper)
    yield from _part("The whole table", [f"{answer.table} All cells: dispatchviz table {answer.operator}"], paper)


def _kernel(answer: CellAnswer, paper: Paper) -> Iterator[str]:
    if not answer.kernel:
        yield from paper.wrapped(f"✗ no kernel  [{answer.reason}]: {answer.tag}", 2, 4)
        return
    yield f"  {paper.styled(answer.kernel, 'bold')}  [{answer.reason}]"
    yield from paper.wrapped(f"[{answer.reason}]: {answer.tag}.", 2, 4)
    under = f", under {answer.source}" if answer.source != answer.key else ""
    yield from paper.wrapped(f"{answer.registered}{under}", 2, 4)


def _part(title: str, texts: list[str] | tuple[str, ...], paper: Paper) -> Iterator[str]:
    yield ""
    yield paper.heading(title)
    for text in texts:
        yield from paper.wrapped(text)


def _claims(answer: CellAnswer, paper: Paper) -> Iterator[str]:
    rows = []
    for claim in answer.claims:
        sign = "✓" if claim.taken else "–"
        named = f": {claim.kernel}" if claim.kernel else ""
        rows.append((f"{sign} {claim.source}", claim.outcome + named))
    yield from paper.columns(rows)


def _change(change: Change, paper: Paper) -> Iterator[str]:
    yield f"  {paper.styled(change.what, 'cyan')} under {change.under}"
    yield from paper.wrapped(" ".join(change.sentences), 4)

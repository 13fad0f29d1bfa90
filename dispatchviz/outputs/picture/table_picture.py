"""An operator's dispatch table as a picture: the registrations on the left, the entries that they fill on the right.

The text on an arrow is the rule by which a registration fills cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.explain.cells.computed_table import HERE, MISSING, PYTORCH, RAISES, SKIPPED, Fold, Row, folded
from dispatchviz.explain.keys.key_text import grouped
from dispatchviz.foundation.english import counted, shortened
from dispatchviz.outputs.picture.dot import Pen
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture

LOOKS = {
    HERE: ("#D3E7F5", "#005B8F", "dispatchviz runs it"),
    PYTORCH: ("#FFFFFF", "#555555", "only PyTorch has the kernel"),
    SKIPPED: ("#F4F4F4", "#777777", "fallthrough: calls skip it"),
    RAISES: ("#F9C4A0", "#B34700", "the kernel only raises"),
    MISSING: ("#FFFFFF", "#000000", "no kernel: calls fail"),
}
"""Fill and line of each state, and its meaning."""

LONGEST = 96
"""The largest length of a text."""


def table_picture(
    operator: str,
    rows: Sequence[Row],
    order: Mapping[tuple[str, str], int],
    *,
    chosen: int | None = None,
    registered: Sequence[str] = (),
) -> DrawnPicture:
    """Return the picture of an operator's cells.

    ``order`` maps the kernel and key of a registration to its number in the order in which PyTorch makes them.
    ``chosen`` is the cell that a call has selected. ``registered`` lists the additional registrations of a program.
    """
    pen = Pen()
    cells = list(folded(row for row in rows if row.reason != FALLBACK))
    places = _registrations(pen, cells, order)
    for number, (filled, folds) in enumerate(_filled(cells).items()):
        _cells(pen, f"c{number}", folds, next((row for row in rows if row.cell == chosen), None))
        pen.edge(f"{places[filled[0]]}:t:e", f"c{number}:w", label=pen.text(filled[1]))
    pen.in_order([*places.values(), *_rest(pen, rows)])
    title = [*_title(operator, rows, chosen), *_program(registered)]
    return DrawnPicture(pen.drawing(title, "table", rankdir="LR", ranksep="0.8", nodesep="0.1", ordering="out"))


Registered = tuple[str, str, str]
"""The key or alias, the kernel, the place."""


def _registrations(pen: Pen, cells: Sequence[Fold], order: Mapping[tuple[str, str], int]) -> dict[Registered, str]:
    """Draw a box for each registration, in the order in which they are made. Return the names of the boxes."""
    found = dict.fromkeys(_registered(fold.row) for fold in cells)
    last = len(order) + 1
    names: dict[Registered, str] = {}
    for each in sorted(found, key=lambda each: order.get((each[1], each[0]), last)):
        source, kernel, where = each
        number = order.get((kernel, source))
        texts = [shortened(text, LONGEST) for text in (kernel, where) if text]
        label = f"<t>{pen.text(source if number is None else f'{number}. {source}')}|{pen.lines(texts)}"
        names[each] = f"r{len(names)}"
        pen.box(names[each], label, style="filled", fillcolor="#FAFAF5", color="#8A8A6A")
    return names


def _registered(row: Row) -> Registered:
    return row.source, row.kernel, row.registered


def _filled(cells: Iterable[Fold]) -> dict[tuple[Registered, str, str], list[Fold]]:
    """Return the cells that one registration fills by one rule and that are in the same state."""
    found: dict[tuple[Registered, str, str], list[Fold]] = {}
    for fold in cells:
        found.setdefault((_registered(fold.row), fold.row.reason, fold.row.state), []).append(fold)
    return found


def _cells(pen: Pen, name: str, folds: Sequence[Fold], chosen: Row | None) -> None:
    fill, line, said = LOOKS[folds[0].row.state]
    lines, width = list[str](), "1"
    for fold in folds:
        cells = f"cell {fold.cells}" if fold.cells.isdigit() else f"cells {fold.cells}"
        here = chosen is not None and _kind(chosen) == _kind(fold.row)
        lines.append(f"{cells}: {fold.keys}{'  ← the call' if here else ''}")
        width = "3" if here else width
    label = f"{pen.lines(lines)}|{pen.text(said)}"
    pen.box(name, label, style="filled", fillcolor=fill, color=line, penwidth=width)


def _kind(row: Row) -> tuple[object, ...]:
    """Return the key by which cells are grouped."""
    return DispatchKey[row.key].functionality, row.kernel, row.reason


def _rest(pen: Pen, rows: Iterable[Row]) -> Iterator[str]:
    """Draw the cells that most operators have in common: boxes for those with the keys' own fallbacks, and one for the
    empty cells. Yield the names of the boxes.
    """
    there = list(rows)
    fallbacks = {state: [row for row in there if row.reason == FALLBACK and row.state == state] for state in LOOKS}
    for state, found in fallbacks.items():
        if found and state != MISSING:
            yield _many(pen, f"f{state}", f"fallbacks of the keys: {counted(len(found), 'cell')}", found, state)
    if empty := [row for row in there if row.state == MISSING]:
        yield _many(pen, "empty", f"empty: {counted(len(empty), 'cell')}", empty, MISSING)


def _many(pen: Pen, name: str, title: str, rows: Sequence[Row], state: str) -> str:
    fill, line, said = LOOKS[state]
    keys = list(grouped([DispatchKey[row.key] for row in rows]))
    label = "|".join([pen.text(title), pen.lines(_joined(keys)), pen.text(said)])
    pen.box(name, label, style="filled", fillcolor=fill, color=line)
    return name


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts joined to lines of limited length."""
    line = ""
    for text in texts:
        if line and len(line) + len(text) + 2 > LONGEST:
            yield f"{line},"
            line = text
        else:
            line = f"{line}, {text}" if line else text
    yield line


def _program(registered: Sequence[str]) -> Iterator[str]:
    if registered:
        yield "Not in the picture, because the program itself registered it:"
        yield from (shortened(text, LONGEST) for text in registered)


def _title(operator: str, rows: Sequence[Row], chosen: int | None) -> Iterator[str]:
    valid = sum(row.state != MISSING for row in rows)
    yield f"Dispatch table of {operator}: {valid} of {len(rows)} entries hold a kernel"
    yield "Left: the registrations, each with key or alias and place.  Right: the entries that they fill, and the rule"
    yield "1., 2., ...: the order of registration, assumed to be the Linux release's; any order gives the same table"
    if chosen is not None:
        yield "Thick line: the entry that the call selected"

"""The comparison screen as rows of text, for any width. It is independent of widgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from rich.cells import cell_len

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.aligned_rows import Likeness, Pair
from dispatchviz.explain.comparison.difference_sentences import said
from dispatchviz.explain.comparison.divergence_sentences import lines_of, sameness, texts
from dispatchviz.explain.comparison.divergences import Divergence
from dispatchviz.explain.kinds.all_kinds import sign, why_here
from dispatchviz.explain.outline.facts import facts
from dispatchviz.explain.outline.row_texts import event_texts
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import capital, counted
from dispatchviz.tui.comparison.comparison_state import COMPARISON_GROUPS, COMPARISON_KEYMAP, Compared, Row, Several
from dispatchviz.views import keymap
from dispatchviz.views.cards.diff_text import diff_lines
from dispatchviz.views.text.console import Console
from dispatchviz.views.text.line_fitting import fit, paragraphs, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

SIGNS: dict[Likeness, Span] = {
    "same": ("  ", ""),
    "values": ("≈ ", "key"),
    "changed": ("~ ", "warning"),
    "first": ("< ", "error"),
    "second": ("> ", "new"),
}
"""The signs before a row, by how its sides compare."""

NARROW = 78
"""The width below which only one run fits at a time."""

ROOMY = 50
"""The width of a side from which on rows also show their outcomes."""

GAP = "   "
TALL = 30
"""The height of a terminal from which on the sentences have more rows."""


def heights(height: int) -> tuple[int, int]:
    """The numbers of rows of the text above and below the list."""
    return (5, 8) if height >= TALL else (4, 5) if height >= 20 else (3, 3)


def header(state: Compared) -> Line:
    """The top row: the number of differences, and the comparison that is shown."""
    many = len(state.two.stops)
    summary = f"they differ in {counted(many, 'place')}" if many else "they do not differ"
    return line((f" dispatchviz {state.two.by}", "bold"), *_choices(state), f"  two runs side by side, {summary}")


def _choices(state: Compared) -> Iterator[Span]:
    if len(state.choices) > 1:
        for at, each in enumerate(state.choices):
            yield f"  {at + 1} ", "keycap"
            yield each.name, "bold" if at == state.which else "dim"


# -- sentences --------------------------------------------------------------------------------------------------------


def why(state: Compared, width: int, most: int) -> list[Line]:
    """The text above the rows: a note, the first difference and its reason."""
    rows = wrap(state.note, width - 1) if state.note else []
    two = state.two
    if not two.stops:
        return paragraphs([*rows, line(f" {sameness(two.comparison)}", indent=1)], width - 1, most)
    begin = two.stops[0]
    where = f" {_what(state, begin)} first differ at {'; '.join(lines_of(*two.runs, begin.lines))}"
    text = " ".join(texts(*two.runs, begin))
    first_rows = [line((where, "title"), indent=1), line(f" {text}", indent=1)]
    return paragraphs([*rows, *first_rows], width - 1, most)


def _what(state: Compared, stop: Divergence) -> str:
    if stop.main is state.two.comparison.numbers:
        return "Their numbers"
    return "The values that they pass" if state.two.comparison.same_way else "They"


def below(state: Compared, width: int, most: int) -> list[Line]:
    """The text below the rows: the sentence on the cursor's row, and the differences after it."""
    row = state.row
    if row is None:
        return [line((" Nothing was recorded in either run", "hint"))]
    about = _about(state, row)
    return paragraphs([line(f" {text}", indent=1) for text in about] + _after(state, most), width - 1, most)


def _about(state: Compared, row: Row) -> list[str]:
    """The sentences on the row itself."""
    first, second = state.two.runs
    if isinstance(row.item, Several):
        many, likeness = len(row.item.pairs), state.tree.likeness(row.pair)
        where = state.two.runs[likeness == "second"].where
        if likeness != "same":
            return [f"{capital(counted(many, 'registration'))}, only {where}."]
        return [f"Both runs do the same in {counted(many, 'row')}."]
    stop, pair = state.stop, row.item
    if stop is not None:
        return [] if stop is state.two.stops[0] else list(texts(first, second, stop))  # already in the bar
    likeness, difference = state.tree.likeness(pair), state.tree.difference(pair)
    if difference is not None and not _is_same_line(state, pair):
        return [said(first, second, difference).text]
    if likeness == "same" and pair.first is not None:
        return [f"The same in both runs: {why_here(first.trace, pair.first)}"]
    inner = _first_within(state, pair)
    return [
        f"The difference is inside this row: {said(first, second, inner.main).short}."
        if inner
        else "The difference is inside this row."
    ]


def _is_same_line(state: Compared, pair: Pair) -> bool:
    """Return whether both sides are the same line of the program, so that the difference is inside it."""
    if pair.first is None or pair.second is None:
        return False
    one, other = (run.trace[step] for run, step in zip(state.two.runs, (pair.first, pair.second), strict=True))
    same = isinstance(one, ev.SourceLine) and isinstance(other, ev.SourceLine)
    return same and state.tree.trees[0].pairs[pair.first] == state.tree.trees[1].pairs[pair.second]


def _first_within(state: Compared, pair: Pair) -> Divergence | None:
    """The first difference within a row."""
    for stop in state.two.stops:
        for side, steps in enumerate(pair.inside):
            parents, step = state.tree.trees[side].parents, stop.main.first if side == 0 else stop.main.second
            while step is not None and step >= 0:
                if step in steps:
                    return stop
                step = parents[step]
    return None


def _after(state: Compared, most: int) -> list[Line]:
    """The differences after the row, in short."""
    two = state.two
    rows = []
    for at, stop in enumerate(state.stops_after(most)):
        head = " Differences after that: " if at == 0 else " " * 26
        times = f" ({stop.times} times)" if stop.times > 1 else ""
        where = "; ".join(lines_of(*two.runs, stop.lines))
        rows.append(line((head, "dim"), (f"{where}{times}", "bold"), GAP, said(*two.runs, stop.main).short, cut=True))
    if not rows and state.stop is not None:
        rows.append(line((" No differences after that.", "dim")))
    return rows


def whole(state: Compared, width: int) -> list[Line]:
    """The full comparison, as it is printed without a terminal."""
    wheres = tuple(run.where for run in state.two.runs)
    lines = diff_lines(state.two.comparison, (wheres[0], wheres[1]), Console(width, colors=False), every=True)
    return [line(text) for text in lines]


# -- rows -------------------------------------------------------------------------------------------------------------


def list_title(state: Compared, width: int) -> str:
    """The names of the runs above their columns; in a narrow terminal, only the name of the visible side."""
    names = [_name(state, side) for side in (0, 1)]
    if width < NARROW:
        return names[state.side]
    left, _ = _widths(width)
    room = max(left - cell_len("─ "), 1)
    return f"{_padded(line(names[0]), room).plain} {names[1]} "


def _name(state: Compared, side: int) -> str:
    return f"{state.two.sides[side].title}{' ◂ Enter' if side == state.side else ''}"


def _widths(width: int) -> tuple[int, int]:
    """The widths of the left and the right column, without the signs and the bar between them."""
    left = (width - 5) // 2
    return left, width - 5 - left


def list_row(state: Compared, at: int, width: int) -> Line:
    """A row of the list."""
    row = state.rows[at]
    cursor: Span = ("▶" if at == state.at else " ", "focus")
    if isinstance(row.item, Several):
        sign_of_all = SIGNS[state.tree.likeness(row.pair)]
        return line(cursor, sign_of_all, *_indent(row), ("▸ ", "dim"), (f"… {_many(state, row.item)}", "dim"), cut=True)
    likeness = state.tree.likeness(row.item)
    if width < NARROW:
        side = state.side if row.item.step(state.side) is not None else 1 - state.side
        return line(cursor, SIGNS[likeness], *_cell(state, row, side, width - 3), cut=True)
    left, right = _widths(width)
    cells = [_padded(line(*_cell(state, row, side, room)), room) for side, room in enumerate((left, right))]
    spans = (cursor, SIGNS[likeness], *cells[0].spans, ("│ ", "rule"), *cells[1].spans)
    return Line(spans=spans, cut=True)


def _many(state: Compared, several: Several) -> str:
    """The text of several rows that are folded into one."""
    side = 0 if several.pairs[0].first is not None else 1
    number, likeness = len(several.pairs), state.tree.likeness(several.pairs[0])
    if likeness != "same":
        return counted(number, "registration")
    step = several.pairs[0].step(side)
    is_line = step is not None and state.tree.kind(side, step) == ev.SourceLine.__name__
    return counted(number, "equal line" if is_line else "equal row")


def _indent(row: Row) -> tuple[Span]:
    return ((" " * row.depth, ""),)


def _padded(text: Line, width: int) -> Line:
    """The text padded or cut to a width in cells."""
    short = fit(text, width)
    return replace(short, spans=(*short.spans, (" " * (width - short.width), "")))


def _cell(state: Compared, row: Row, side: int, width: int) -> list[Span]:
    """The spans of one side of a row; none if that run has no such step."""
    assert isinstance(row.item, Pair)
    step = row.item.step(side)
    if step is None:
        return []
    fold = "▾ " if row.unfolded else "▸ " if state.tree.children(row.item) else "  "
    return [*_indent(row), (fold, "dim"), *_text(state.two.runs[side].trace, step, width >= ROOMY)]


def _text(trace: Trace, step: int, roomy: bool) -> Iterator[Span]:
    """Yield the text of a step and, if there is room, its outcome."""
    event = trace[step]
    if isinstance(event, ev.SourceLine):
        number = f"{event.line:>2}  " if event.file == trace.header.program else f"{event.file} {event.line}  "
        yield number, "dim"
        yield source_text(trace, event) or f"line {event.line} of {event.file}", "bold"
        happened = facts(trace, step, trace.ends[step]) if roomy else []
    else:
        (text, role), happened = event_texts(trace, step)
        yield f"{sign(event)} ", role
        yield text, "error" if role == "error" else ""
    if roomy:
        for fact in happened:
            yield GAP, ""
            yield fact


# -- keys -------------------------------------------------------------------------------------------------------------


def footer(width: int) -> Line:
    """The most important keys."""
    return keymap.footer(COMPARISON_KEYMAP, width)


INTRODUCTION = """\
Each row shows a step of the left run beside its counterpart in the right run. The rows are lines of the program; \
calls, redispatches and Nodes are inside them. Several rows are folded. The text at the top shows where the runs first \
differ, and why. The text below shows what differs in the current row, and what differs after it.
"""

MEANINGS: Sequence[tuple[Likeness, str]] = (
    ("changed", "PyTorch does something different in this row, or inside it"),
    ("values", "PyTorch does the same with different values, numbers or texts"),
    ("first", "only in the left run"),
    ("second", "only in the right run"),
)


def help_rows() -> list[Line]:
    """The text of the help."""
    return [
        *map(line, INTRODUCTION.splitlines()),
        line(),
        *(line(SIGNS[likeness], f" {meaning}", indent=3) for likeness, meaning in MEANINGS),
        line("   ", "no sign: the same in both runs, including everything inside"),
        *(row for group in COMPARISON_GROUPS for row in keymap.group_rows(COMPARISON_KEYMAP, group)),
        line(),
        line(("Esc or q closes this help.", "dim")),
    ]

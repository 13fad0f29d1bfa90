"""Measurements side by side in a table (``torch/utils/benchmark/utils/compare.py``).

NB: PyTorch can color the best of each row; here there are no colors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dispatchviz.torch.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig, unit_to_english


class Compare:
    """A table for each label, with a row for each task and a column for each description."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)
        self._trimmed = False
        self._warns = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raise ValueError for anything else."""
        found = list(results)
        for one in found:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results += found

    def trim_significant_figures(self) -> None:
        """Print only significant digits."""
        self._trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Do nothing: tables have no colors here."""

    def highlight_warnings(self) -> None:
        """Mark times with a high variation."""
        self._warns = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(one.label or one.stmt for one in merged)
        return "\n".join(self._table(label, [m for m in merged if (m.label or m.stmt) == label]) for label in labels)

    def _table(self, label: str, found: list[Measurement]) -> str:
        columns = list(dict.fromkeys(one.description or "" for one in found))
        unit, scale = select_unit(min(one.median for one in found))
        names = {key: _row_name(*key) for key in dict.fromkeys((m.num_threads, m.as_row_name, m.env) for m in found)}
        cells = {key: [self._cell(found, key, column, scale) for column in columns] for key in names}
        left = max(len(name) for name in names.values())
        widths = [max(len(column), *(len(row[i]) for row in cells.values())) for i, column in enumerate(columns)]
        head = " " * left + "".join(f"  |  {name:>{width}}" for name, width in zip(columns, widths, strict=True))
        lines = [f"[{f' {label} ':-^{len(head.rstrip()) - 2}}]", head.rstrip()]
        threads = 0
        for key, row in sorted(cells.items(), key=lambda item: item[0][0]):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(len(lines[0]), "-"))
            parts = [f"  |  {cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
            lines.append((names[key].ljust(left) + "".join(parts)).rstrip())
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""])

    def _cell(self, found: list[Measurement], key: tuple[int, str, str | None], column: str, scale: float) -> str:
        one = next((m for m in found if _key(m) == key and (m.description or "") == column), None)
        if one is None:
            return ""
        value = one.median / scale
        text = f"{trim_sigfig(value, one.significant_figures):g}" if self._trimmed else f"{value:.1f}"
        return f"(! {one.iqr / one.median * 100:.0f}%) {text}" if self._warns and one.has_warnings else text


_key: Callable[[Measurement], tuple[int, str, str | None]] = lambda one: (one.num_threads, one.as_row_name, one.env)  # noqa: E731


def _row_name(threads: int, name: str, env: str | None) -> str:
    return f"      {f'({env}) ' if env else ''}{name}"

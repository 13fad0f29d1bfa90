"""Counts per operator: samples passed, skipped with a reason, differing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.conformance.opinfo.checks import Found
from tests.conformance.opinfo.known import KNOWN

Row = tuple[str, int, int, int, str]
"""Operator, samples passed, skipped, differing, reasons. Plain values, so that a process can send them to another."""


@dataclass
class Report:
    """The counts of one operator."""

    name: str
    passed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """The number of skipped samples by reason."""
    differing: list[Found] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)
    """The known differences of the operator that occurred."""

    @property
    def is_missing(self) -> bool:
        """True if the model does not have the operator in any call."""
        return not self.passed and not self.differing

    @property
    def unneeded(self) -> list[str]:
        """The reasons of known differences that did not occur."""
        return [known.reason for i, known in enumerate(KNOWN.get(self.name, ())) if i not in self.needed]

    @property
    def text(self) -> str:
        """The differences, the first few of them in full."""
        shown = [f"{each.check}: {each.difference}\n    {each.sample}" for each in self.differing[:8]]
        return f"{len(self.differing)} samples differ\n" + "\n".join(shown)

    def row(self) -> Row:
        """Return the row of the table."""
        reasons = "; ".join(f"{count} {reason[:90]}" for reason, count in self.skipped.most_common(3))
        return self.name, self.passed, sum(self.skipped.values()), len(self.differing), reasons


def report(name: str, findings: Iterable[Found]) -> Report:
    """Count an operator's findings."""
    result = Report(name)
    for found in findings:
        if found.not_here:
            result.skipped[found.not_here] += 1
        elif not found.difference:
            result.passed += 1
        else:
            _sort_difference(result, found)
    return result


def _sort_difference(result: Report, found: Found) -> None:
    for i, known in enumerate(KNOWN.get(result.name, ())):
        if known.covers(found.check, found.difference):
            result.needed.add(i)
            result.skipped[known.reason] += 1
            return
    result.differing.append(found)


HEAD = f"{'operator':44} {'passed':>6} {'skip':>6} {'differ':>6}  reasons"


def table(rows: Iterable[Row], missing: Iterable[str]) -> str:
    """Return the table of all operators; ``missing`` are those that the model does not have."""
    rows, missing = sorted(rows), sorted(missing)
    totals = [sum(counts) for counts in zip(*[row[1:4] for row in rows], strict=True)] or [0, 0, 0]
    return "\n".join(
        [
            HEAD,
            *[_line(*row) for row in rows],
            _line(f"{len(rows)} operators", *totals, ""),
            f"not here, {len(missing)}: {', '.join(missing)}",
        ]
    )


def _line(name: str, passed: int, skipped: int, differing: int, reasons: str) -> str:
    return f"{name:44} {passed:6} {skipped:6} {differing:6}  {reasons}".rstrip()

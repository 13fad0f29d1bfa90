"""Counts per operator: samples passed, skipped with a reason, differing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.conformance.opinfo.checks import Found
from tests.conformance.opinfo.known import KNOWN


@dataclass
class Report:
    """Of one operator."""

    name: str
    passed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """By reason."""
    differing: list[Found] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)
    """Which of the operator's known differences occurred."""

    @property
    def is_missing(self) -> bool:
        """Every call ended in a word that there is no such thing here."""
        return not self.passed and not self.differing

    @property
    def unneeded(self) -> list[str]:
        """Reasons of known differences that did not occur."""
        return [known.reason for i, known in enumerate(KNOWN.get(self.name, ())) if i not in self.needed]

    @property
    def text(self) -> str:
        """The differences, the first few of them in full."""
        shown = [f"{each.check}: {each.difference}\n    {each.sample}" for each in self.differing[:8]]
        return f"{len(self.differing)} samples differ\n" + "\n".join(shown)

    def line(self) -> str:
        """Of the table."""
        words = f"{self.name:44} {self.passed:6} {sum(self.skipped.values()):6} {len(self.differing):6}"
        reasons = "; ".join(f"{count} {reason[:90]}" for reason, count in self.skipped.most_common(3))
        return f"{words}  {reasons}".rstrip()


def report(name: str, findings: Iterable[Found]) -> Report:
    """Sorts an operator's findings."""
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


REPORTS: list[Report] = []
MISSING: list[str] = []
"""Of this run of the tests."""

HEAD = f"{'operator':44} {'passed':>6} {'skip':>6} {'differ':>6}  reasons"


def table(reports: Iterable[Report], missing: Iterable[str]) -> str:
    """Of all operators."""
    reports = sorted(reports, key=lambda one: one.name)
    missing = sorted([*missing, *[one.name for one in reports if one.is_missing]])
    reports = [one for one in reports if not one.is_missing]
    lines = [HEAD, *[one.line() for one in reports]]
    passed, skipped = sum(one.passed for one in reports), sum(sum(one.skipped.values()) for one in reports)
    differing = sum(len(one.differing) for one in reports)
    lines.append(f"{f'{len(reports)} operators':44} {passed:6} {skipped:6} {differing:6}")
    lines.append(f"not here, {len(missing)}: {', '.join(missing)}")
    return "\n".join(lines)

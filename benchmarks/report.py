"""The results of all benchmarks as text: the table of goals, and the page ``docs/performance.md``."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from benchmarks.goals import GOALS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
LIBRARIES = ("numpy", "textual", "autograd", "torch")


class Result(NamedTuple):
    """A figure that a benchmark measured, and the bar that it must not exceed."""

    benchmark: str
    name: str
    value: float
    bar: float


def read(benchmark: str, file: Path) -> list[Result]:
    """Return the results that a benchmark wrote (``sizes.judge``), none without a file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Result(benchmark, *json.loads(line)) for line in lines]


def goals(results: Sequence[Result]) -> list[str]:
    """Return the table of what people do: each figure, measured now, and its goal. Figures not measured have a dash."""
    found = {(each.benchmark, each.name): each.value for each in results}
    rows = ["| what a person does | figure | now | goal | |", "|---|---|---:|---:|---|"]
    for action, benchmark, name, most, why in GOALS:
        value = found.get((benchmark, name))
        missed = f"missed; {why}".rstrip("; ") if value is not None and value > most else ""
        rows.append(f"| {action} | {name} | {'-' if value is None else f'{value:.3g}'} | {most:g} | {missed} |")
    return rows


def measured() -> str:
    """Return the commit and the day of a measurement."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return f"Measured at commit {commit.stdout.strip() or 'unknown'} on {datetime.now(UTC):%Y-%m-%d}."


def machine() -> Iterator[str]:
    """Yield the machine and the libraries, a line each."""
    yield f"Machine: {_processor()}, {platform.system()}, Python {platform.python_version()}."
    yield f"Libraries: {', '.join(map(_library, LIBRARIES))}."


def _processor() -> str:
    """Return the name of the processor and the number of its cores, as Linux reports them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (not installed)"


def page(results: Sequence[Result], before: str = "") -> str:
    """Return ``docs/performance.md``: the table of goals, and all figures of each benchmark.

    Benchmarks without results keep the figures and the commit of the page ``before``.
    """
    sections = dict(_SECTION.findall(before))
    for benchmark in dict.fromkeys(each.benchmark for each in results):
        own = [each for each in results if each.benchmark == benchmark]
        rows = [f"| {each.name} | {each.value:.3g} | {each.bar:g} |" for each in own]
        sections[benchmark] = "\n".join([measured(), "", "| figure | now | bar |", "|---|---:|---:|", *rows])
    found = [Result(name, row[0], float(row[1]), float(row[2])) for name in sections for row in _rows(sections[name])]
    parts = ["# Performance", INTRODUCTION, "  \n".join(machine()), "## What people feel", "\n".join(goals(found))]
    parts += [f"{HEADING}{name}\n\n{sections[name].strip()}" for name in sorted(sections)]
    return "\n\n".join(parts) + "\n"


HEADING = "## benchmarks."
_SECTION = re.compile(rf"^{re.escape(HEADING)}(\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def _rows(section: str) -> Iterator[list[str]]:
    """Yield the cells of the figures of a section."""
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| "))
    return (row for row in rows if row[0] != "figure")


INTRODUCTION = """\
`make bench` measures these figures and writes this page. Most figures are ratios to something that ran in the same
process or alternately: to NumPy, to HIPS autograd, to PyTorch under its DebugMode, to an empty Textual app. Such ratios
transfer between machines; seconds and milliseconds do not. Less is better everywhere. A bar is the value above which a
benchmark fails, a little above its usual value, so that a loss of speed is noticed. A floor is the figure with nothing
of ours, or with the least that it needs. The docstring of each module in `benchmarks/` explains how it measures.
`python -m benchmarks --keep NAME` measures one again."""

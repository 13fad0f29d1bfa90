"""A snapshot as text: how much a PyTorch registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dispatchviz.live.snapshot import Snapshot
from dispatchviz.views.text.console import Console


def summary_lines(snapshot: Snapshot, console: Console) -> Iterator[str]:
    """What it is of, and counts."""
    yield console.heading(snapshot.title)
    yield from console.columns(_counts(snapshot))


def _counts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    names = Counter(operator.name.rpartition("::")[0] for operator in snapshot.operators)
    kernels = [row for operator in snapshot.operators for row in operator.kernels]
    yield "operators", f"{len(snapshot.operators):,}: {_counted(names)}"
    yield "registrations", f"{len(kernels):,}: {_counted(Counter(row.key for row in kernels))}"
    yield "kernels", _counted(Counter(str(row.kind) for row in kernels))
    yield "fallbacks", f"{len(snapshot.fallbacks)}: {', '.join(row.key for row in snapshot.fallbacks)}"
    yield "keys", f"{len(snapshot.keys)}, from {snapshot.keys[0]} up to {snapshot.keys[-1]}"
    yield "git", snapshot.git


def _counted(counts: Counter[str]) -> str:
    """``aten 3,055, quantized 210``: most first."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())

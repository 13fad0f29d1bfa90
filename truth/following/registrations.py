"""Operators, schemas, kernels, backend fallbacks and table cells that a release changed."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.live.snapshot import Snapshot
from dispatchviz.live.snapshot_difference import Difference, OperatorDifference, difference
from truth.following import Left, some
from truth.observers.builds import only_in_cuda_builds

RECORD = "python -m truth.record dispatch_tables"
REFUSE = f"{RECORD}; refuse them by name, and remove our entries and kernels"


def left() -> Iterator[Left]:
    """Yield the changed registrations."""
    from truth.following.snapshots import model_and_installed

    before, after = model_and_installed()
    yield from changed(difference(before, after))
    yield from new_files(before, after)


def changed(found: Difference) -> Iterator[Left]:
    """Yield the differences between two snapshots."""
    yield from some("operators added", [*found.added], RECORD)
    yield from some("operators removed", [*found.removed], REFUSE)
    schemas = {name: one.schema for name, one in found.operators.items() if one.schema is not None}
    yield from some(
        "schemas that differ",
        [f"{name}: {', '.join(s.after)}, not {', '.join(s.before)}" for name, s in schemas.items()],
        f"{RECORD}; change our yaml entries and kernels",
    )
    for what in ("new", "gone", "replaced", "other kind", "moved"):
        yield from some(f"kernels: {what}", [*kernels(found, what)], RECORD)
    for key in dict.fromkeys(cell.key for one in found.operators.values() for cell in one.cells):
        yield from some(f"table cells of {key}", [*cells(found.operators, key)], f"{RECORD}; look at kernels of ours")
    yield from some("backend fallbacks", [f"{one.key}: {one.after or 'gone'}" for one in found.fallbacks], RECORD)


def kernels(found: Difference, what: str) -> Iterator[str]:
    """Yield the operators and keys whose kernels have one kind of change."""
    for name, one in found.operators.items():
        if keys := [change.key for change in one.kernels if change.what == what]:
            yield f"{name} ({', '.join(keys)})"


def cells(operators: dict[str, OperatorDifference], key: str) -> Iterator[str]:
    """Yield the operators with another cell for a key."""
    for name, one in operators.items():
        yield from (f"{name}: {cell.after}, not {cell.before}" for cell in one.cells if cell.key == key)


def new_files(before: Snapshot, after: Snapshot) -> Iterator[Left]:
    """Yield the files that register kernels and did not before, with the build to which the rule gives each."""
    known, found = ({row.file for one in each.operators for row in one.kernels} for each in (before, after))
    builds = [f"{file}: {'CUDA' if only_in_cuda_builds(f'{file}:1') else 'each'} build" for file in found - known]
    yield from some("files that are new", sorted(builds), "check the rule of truth/observers/builds.py")

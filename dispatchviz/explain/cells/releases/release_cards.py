"""The answers of ``table`` and ``why`` about an older release, as values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK, KERNEL, MISSING
from dispatchviz.explain.cells.cell_claims import TAGS, because, nothing_itself
from dispatchviz.explain.cells.computed_table import MISSING as EMPTY
from dispatchviz.explain.cells.computed_table import SKIPPED, Row, TableCard
from dispatchviz.explain.cells.releases.release import Release
from dispatchviz.explain.cells.releases.release_keys import ReleaseKeys
from dispatchviz.explain.cells.why_cell import CellAnswer, Claim, claims_of
from dispatchviz.foundation.english import counted
from dispatchviz.live.registration import UNKNOWN_FILE


def release_table(release: Release, op: OperatorEntry, build: str, keys: Sequence[str] = ()) -> TableCard:
    """The table of an operator in a release; with keys, only their entries, in the given order."""
    every = release.rows(op, build)
    by_key = {row.key: row for row in every}
    return TableCard(
        operator=op.name,
        schema=str(op.schema),
        defined=op.debug,
        release=release.number,
        build=build,
        mask=release.mask(every),
        rows=tuple(by_key[key] for key in keys) or every,
        valid=sum(row.state != EMPTY for row in every),
        entries=len(every),
    )


def release_entry(release: Release, op: OperatorEntry, build: str, key: str) -> CellAnswer:
    """The answer for a runtime key of a release. Only the model's release has the work of kernels in a call, and the
    registrations that would change the entry.
    """
    every = release.rows(op, build)
    row = every[release.keys.index(key)]
    return CellAnswer(
        operator=op.name,
        key=key,
        cell=row.cell,
        kernel=row.kernel,
        reason=row.reason,
        tag=TAGS[row.reason],
        source=row.source,
        registered=row.registered,
        why=" ".join([_why(release, op, row, every), *_unreported(row)]),
        claims=_claims(release, op, row),
        called=tuple(_called(op.name, row)),
        changes=(),
        table=_counted(release, every),
    )


def _called(operator: str, row: Row) -> Iterator[str]:
    """Yield the effect of an entry that holds no function."""
    if row.state == SKIPPED:
        yield (
            f"No call reaches this entry, because it is a fallthrough: calls skip {row.key}, and the next key of their "
            "key set decides."
        )
    elif row.state == EMPTY and row.key != "Undefined":
        yield (
            f"A call whose highest key is {row.key} raises NotImplementedError: Could not run '{operator}' with "
            f"arguments from the '{row.key}' backend."
        )


def _claims(release: Release, op: OperatorEntry, row: Row) -> tuple[Claim, ...]:
    if row.key in DispatchKey.__members__:
        return claims_of(op, op.compute(DispatchKey[row.key]))
    held = release.fallbacks().get(row.key)
    own = Claim(row.key, "taken", True, row.kernel, row.registered)
    none = Claim(row.key, "nothing registered", False, "", "")
    fallback = Claim(f"fallback of {row.key}", "", False, held.name if held else "", held.debug if held else "")
    if row.reason == KERNEL:
        return (own, fallback._replace(outcome="has a kernel, but with lower precedence than the chosen one"))
    return (none, fallback._replace(outcome="taken" if held else f"{row.key} has no fallback", taken=held is not None))


def _why(release: Release, op: OperatorEntry, row: Row, every: Sequence[Row]) -> str:
    """The reason why this kernel fills the entry. Only the keys of an alias differ from release to release."""
    if row.reason not in (KERNEL, FALLBACK, MISSING, AMBIGUOUS):
        return _covered(release, row, every)
    if row.key in DispatchKey.__members__:
        return because(op, op.compute(DispatchKey[row.key])).text
    if row.reason == KERNEL:
        return f"{row.kernel} is registered for {row.key} itself. A key's own kernel takes precedence over all others."
    if row.reason == FALLBACK:
        return f"This operator registers nothing for {row.key}, so its entry holds the fallback of {row.key}."
    return f"The entry is empty, because nothing is registered for {row.key}, and {row.key} has no fallback."


def _covered(release: Release, row: Row, every: Sequence[Row]) -> str:
    members = release.text.members[row.source]
    filled = [one.key for one in every if one.source == row.source and one.reason != FALLBACK and one.key in members]
    here = ", including this one" if row.key in members else ""
    gets = "" if row.key in members else f" {row.key} is not one of them but gets the kernel too."
    return (
        f"{nothing_itself(row.key)} In PyTorch {release.minor}, the alias {row.source} covers "
        f"{counted(len(members), 'key')}. Its kernel fills {len(filled)} of their entries{here}.{gets} The alias is "
        "resolved when kernels are registered, not when the operator is called. A call only reads the entry."
    )


def _unreported(row: Row) -> Iterator[str]:
    if UNKNOWN_FILE in row.registered:
        yield f"{UNKNOWN_FILE} means that Python registered the kernel: before 2.9, PyTorch does not report the file."


def _counted(release: Release, every: Sequence[Row]) -> str:
    empty = [row.key for row in every if row.state == EMPTY]
    if not empty:
        return f"All {len(every)} entries of the operator's dispatch table hold a kernel."
    return (
        f"{len(every) - len(empty)} of the {len(every)} entries of the operator's dispatch table hold a kernel. Empty: "
        f"{ReleaseKeys(release).text(empty)}."
    )

"""Snapshots as text: the size of one snapshot; for two snapshots, a summary and then the changes. A change that many
operators share is listed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from dispatchviz.foundation.english import counted, listed
from dispatchviz.live.registration import Registration
from dispatchviz.live.snapshot import Operator, Snapshot
from dispatchviz.live.snapshot_difference import (
    Difference,
    KernelChange,
    KeysDifference,
    OperatorDifference,
    SchemaChange,
)
from dispatchviz.views.text.console import Console

SHOWN = 12
"""The maximum number of rows of a part to show without ``--all``."""

NAMED = 3
"""The maximum number of operators of a group to name."""

BASES = 8
"""The maximum number of new or removed operators of a namespace to name."""

Change = TypeVar("Change", bound=Hashable)


def difference_lines(found: Difference, console: Console, every: bool = False) -> Iterator[str]:
    """Yield the whole comparison. If ``every`` is true, show all rows and all names."""
    yield console.heading(f"{found.before} → {found.after}")
    if found.same:
        yield from console.wrapped("Both have the same registrations.", 0)
    else:
        yield from console.columns(_summary(found))
    yield from _not_compared(found, console)
    for title, rows in _parts(found, every):
        yield from _part(title, rows, console, every)


# -- the summary ------------------------------------------------------------------------------------------------------


def _summary(found: Difference) -> Iterator[tuple[str, str]]:
    operators = found.operators.values()
    first, second = (f"{count:,}" for count in found.counts)
    yield "keys", _keys_counted(found.keys)
    yield "fallbacks", _kernels_counted(found.fallbacks)
    yield "operators", f"{first} → {second}: {len(found.added)} new, {len(found.removed)} gone"
    yield "operators in both", f"{len(found.operators)} differ"
    yield "schemas", _counts_text(Counter({"differ": sum(one.schema is not None for one in operators)}))
    yield "registrations", _kernels_counted([change for one in operators for change in one.kernels])
    yield "cells", _counts_text(Counter(f"on {change.key}" for one in operators for change in one.cells))


def _keys_counted(keys: KeysDifference) -> str:
    words = {"new": keys.added, "gone": keys.removed, "renamed": keys.renamed, "moved in the order": keys.moved}
    aliases = len(keys.aliases)
    return _counts_text(Counter({word: len(which) for word, which in words.items()})) + (
        f"; {counted(aliases, 'alias has', 'aliases have')} other members" if aliases else ""
    )


def _kernels_counted(changes: Iterable[KernelChange]) -> str:
    words = {"moved": "moved to another file", "other kind": "of another kind"}
    return _counts_text(Counter(words.get(change.what, change.what) for change in changes))


def _counts_text(counts: Counter[str]) -> str:
    """``12 new, 3 gone``"""
    return ", ".join(f"{count:,} {word}" for word, count in counts.most_common() if count) or "the same"


def _not_compared(found: Difference, console: Console) -> Iterator[str]:
    if found.left_out:
        keys = [key for key in found.left_out if not key.startswith("Autograd")]
        yield from console.wrapped(
            f"Kernels for {listed(keys)}, which only one of the two builds has, are not compared, nor are the table "
            "entries that depend on them. --all compares them.",
            0,
        )
    if found.unsaid:
        yield from console.wrapped(
            f"The file of {counted(found.unsaid, 'kernel')} registered from Python is known for only one of the two: "
            "it is not compared.",
            0,
        )


# -- parts ------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A change and the number of operators that have it."""

    many: str
    text: str


def _parts(found: Difference, every: bool) -> Iterator[tuple[str, list[Row]]]:
    yield "Dispatch keys", [Row("", text) for text in _key_texts(found.keys)]
    yield "Backend fallbacks", [Row("", text) for text in _fallback_texts(found.fallbacks)]
    yield "New operators", list(_operator_rows(found.added, every))
    yield "Removed operators", list(_operator_rows(found.removed, every))
    yield "Schemas", _grouped(_schemas(found.operators), _schema_text, every)
    for title, whats in _KERNEL_PARTS:
        yield title, _grouped(_kernels(found.operators, whats), _under_keys, every)
    yield "Table entries, computed by the rules of each release", _grouped(_cells(found.operators), _under_keys, every)


_KERNEL_PARTS = (
    ("New registrations", ("new",)),
    ("Removed registrations", ("gone",)),
    ("Registrations in another file", ("moved",)),
    ("Registrations of another kind, or replaced", ("other kind", "replaced")),
)


def _part(title: str, rows: list[Row], console: Console, every: bool) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield console.heading(title)
    shown = rows if every or len(rows) <= SHOWN + 1 else rows[:SHOWN]
    width = max(len(row.many) for row in shown)
    for row in shown:
        yield from console.wrapped(f"{row.many:>{width}}  {row.text}" if width else row.text, 2, 4 + width)
    if len(shown) < len(rows):
        yield console.styled(f"  and {len(rows) - len(shown)} more changes: --all shows them", "dim")


def _key_texts(keys: KeysDifference) -> Iterator[str]:
    yield from (f"new: {', '.join(found)}" for found in [keys.added] if found)
    yield from (f"gone: {', '.join(found)}" for found in [keys.removed] if found)
    yield from (f"{old} is called {new}" for old, new in keys.renamed)
    for move in keys.moved:
        yield f"{move.key} was right above {move.before or 'no key'} and is right above {move.after or 'no key'}"
    for change in keys.aliases:
        texts = [
            f"{word} {listed(found)}"
            for word, found in (("no longer has", change.gone), ("now has", change.new))
            if found
        ]
        yield f"{change.alias} {' and '.join(texts)}"


def _fallback_texts(changes: Iterable[KernelChange]) -> Iterator[str]:
    return (f"{change.what}: {_under_keys(((change.key,), change.before, change.after))}" for change in changes)


def _operator_rows(names: Sequence[str], every: bool) -> Iterator[Row]:
    """Yield one row for each namespace. All overloads of one name count as one operator."""
    spaces: dict[str, Counter[str]] = {}
    for name in names:
        space, _, rest = name.rpartition("::")
        spaces.setdefault(space, Counter())[rest.partition(".")[0]] += 1
    for space, bases in sorted(spaces.items(), key=lambda pair: -pair[1].total()):
        texts = [f"{base} ({count} overloads)" if count > 1 else base for base, count in sorted(bases.items())]
        yield Row(str(bases.total()), f"{space}: {_some(texts, BASES, every)}")


def _some(names: Collection[str], most: int, every: bool) -> str:
    if every or len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join([*names][:most])}, and {len(names) - most} more"


# -- the same change of many operators --------------------------------------------------------------------------------


UnderKeys = tuple[tuple[str, ...], str, str]
"""The keys that change in the same way, with the values before and after."""


def _grouped(changes: Iterable[tuple[Change, str]], text: Callable[[Change], str], every: bool) -> list[Row]:
    """Group changes by their text, the ones with most operators first."""
    groups: dict[Change, list[str]] = {}
    for change, name in changes:
        groups.setdefault(change, []).append(name)
    by_size = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return [Row(str(len(names)), f"{text(change)}: {_some(names, NAMED, every)}") for change, names in by_size]


def _schemas(operators: dict[str, OperatorDifference]) -> Iterator[tuple[SchemaChange, str]]:
    return ((one.schema, name) for name, one in operators.items() if one.schema is not None)


def _kernels(operators: dict[str, OperatorDifference], whats: Collection[str]) -> Iterator[tuple[UnderKeys, str]]:
    for name, one in operators.items():
        changes = [change for change in one.kernels if change.what in whats]
        for change in _folded((change.key, *_sides(change)) for change in changes):
            yield change, name


def _sides(change: KernelChange) -> tuple[str, str]:
    """The text of both sides: the two kinds of kernel, or else the difference between two kernels of one kind. The
    schema shows whether a kernel takes ``SymInt``.
    """
    before, after = _short(change.before), _short(change.after)
    if change.what == "other kind":
        return before.partition(" ")[0], after.partition(" ")[0]
    return (before, after) if before and after else (before.removeprefix("sym_"), after.removeprefix("sym_"))


def _cells(operators: dict[str, OperatorDifference]) -> Iterator[tuple[UnderKeys, str]]:
    return (
        (change, name)
        for name, one in operators.items()
        for change in _folded((c.key, c.before, c.after) for c in one.cells)
    )


def _folded(changes: Iterable[tuple[str, str, str]]) -> Iterator[UnderKeys]:
    """Yield the keys of one operator grouped by their change."""
    keys: dict[tuple[str, str], list[str]] = {}
    for key, before, after in changes:
        keys.setdefault((before, after), []).append(key)
    return ((tuple(found), *change) for change, found in keys.items())


GENERATED = ("build/aten/src/ATen/", "torch/csrc/autograd/generated/")
"""Folders whose file names are clear without the folder."""


def _short(kernel: str) -> str:
    """``unboxed RegisterCPU.cpp``"""
    kind, _, file = kernel.partition(" ")
    folder = next((folder for folder in GENERATED if file.startswith(folder)), "")
    return f"{kind} {file.removeprefix(folder)}".strip()


def _schema_text(change: SchemaChange) -> str:
    before, after = (", ".join(parts) for parts in (change.before, change.after))
    if not before or not after:
        return f"+ {after}" if after else f"- {before}" if before else "arguments in another order"
    return f"{before} → {after}"


def _under_keys(change: UnderKeys) -> str:
    """The text of a change, such as ``CPU, Meta  math kernel → kernel``. The kind is left out if the kernel moved to
    another file.
    """
    keys, before, after = change
    (kind, _, file), (new_kind, _, new_file) = before.partition(" "), after.partition(" ")
    if not before or not after:
        text = before or after
    elif "." in file and kind == new_kind:
        text = f"{file} → {new_file}"
    else:
        text = f"{before} → {after}"
    return f"{', '.join(keys)}  {text}"


# -- one operator -----------------------------------------------------------------------------------------------------


def operator_lines(
    names: Iterable[str], before: Snapshot, after: Snapshot, found: Difference, console: Console
) -> Iterator[str]:
    """Yield everything about some operators: the parts that both have, those that only one has (- and +), and the
    entries that differ.
    """
    yield console.heading(f"{found.before} → {found.after}")
    yield from _not_compared(found, console)
    for name in names:
        yield ""
        yield from _operator_lines(name, before, after, found, console)


def _operator_lines(name: str, before: Snapshot, after: Snapshot, found: Difference, console: Console) -> Iterator[str]:
    first, second = before.by_name.get(name), after.by_name.get(name)
    difference = found.operators.get(name, OperatorDifference())
    yield console.heading(name)
    if first is None or second is None:
        yield from console.wrapped(f"Only {found.before if first else found.after} has it.")
    yield from _sided(
        [*_schema_sides(first, second), *_kernel_sides(first, second, difference, found.left_out)], console
    )
    if cells := [f"{change.key}: {change.before} → {change.after}" for change in difference.cells]:
        yield from console.wrapped(f"entries: {'; '.join(cells)}", 2, 4)


Side = tuple[str, str, str]
"""The side (``-`` for the first, ``+`` for the second, a space for both), a key and a kernel."""


def _schema_sides(first: Operator | None, second: Operator | None) -> Iterator[Side]:
    before, after = (operator.schema if operator else "" for operator in (first, second))
    if before == after:
        yield " ", "schema", before
        return
    yield from ((sign, "schema", schema) for sign, schema in (("-", before), ("+", after)) if schema)


def _kernel_sides(
    first: Operator | None, second: Operator | None, difference: OperatorDifference, left_out: Collection[str]
) -> Iterator[Side]:
    before, after = (operator.kernels if operator else () for operator in (first, second))
    for key in dict.fromkeys(row.key for row in (*before, *after)):
        old, new = ([*_texts(rows, key)] for rows in (before, after))
        changes = [change for change in difference.kernels if change.key == key]
        if first and second and not changes:  # lines and files that are not compared may differ
            yield from ((" ", key, text + " (not compared)" * (key in left_out)) for text in new or old)
            continue
        yield from (("-", key, text) for text in old if text not in new)
        yield from ((" " if text in old else "+", key, text) for text in new)


def _texts(rows: Iterable[Registration], key: str) -> Iterator[str]:
    for position, row in enumerate(row for row in rows if row.key == key):
        yield f"{row.kind} {row.file}{' (inactive)' * bool(position)}"


def _sided(rows: Sequence[Side], console: Console) -> Iterator[str]:
    width = max(len(key) for _, key, _ in rows)
    for sign, key, text in rows:
        line = f"{sign} {key:<{width}}  {text}"
        yield console.styled(line, "red" if sign == "-" else "green") if sign != " " else line


def summary_lines(snapshot: Snapshot, console: Console) -> Iterator[str]:
    """Yield the origin of a snapshot and its counts."""
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
    """The counts as text, the largest first: ``aten 3,055, quantized 210``."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())

"""The differences between two snapshots: operators, schemas, registrations, fallbacks, keys, computed cells.

Two kernels are the same if their kind and their file are the same. The line does not count, nor does the part of a
generated file. Kernels of a backend that only one of the builds has are left out unless they are requested, and so are
files that one of the releases does not report.

Not here: how the differences are printed (``difference_text.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.registry import Registry
from dispatchviz.live.registration import UNKNOWN_FILE, Registration, known_key
from dispatchviz.live.snapshot import Operator, Snapshot, snapshot_registry

COMPARED = ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA", "Meta")
"""The keys whose cells are compared."""

BACKENDS = {"CPU": "", "CUDA": "CUDA", "ROCm": "CUDA", "XPU": "XPU"}
"""The backend that a build has besides the CPU. ROCm's kernels are under CUDA's keys."""


KernelChangeKind = Literal["new", "gone", "moved", "other kind", "replaced"]
"""The kind of a change. Moved: to another file. Of another kind: in the same file. Replaced: both differ."""


class KernelChange(msgspec.Struct, frozen=True):
    """A change of a kernel under one key. Without ``before`` the kernel is new, without ``after`` it is gone."""

    key: str
    before: str
    """``boxed torch/_meta_registrations.py``"""
    after: str

    @property
    def what(self) -> KernelChangeKind:
        """The kind of the change, in a word."""
        if not self.before or not self.after:
            return "gone" if self.before else "new"
        (kind, _, file), (new_kind, _, new_file) = self.before.partition(" "), self.after.partition(" ")
        if kind == new_kind:
            return "moved"
        return "other kind" if file == new_file else "replaced"


class SchemaChange(msgspec.Struct, frozen=True):
    """The arguments and returns that only one of the two schemas has. Both are empty if only their order differs."""

    before: tuple[str, ...]
    after: tuple[str, ...]


class CellChange(msgspec.Struct, frozen=True):
    """A change of a cell in the dispatch table."""

    key: str
    before: str
    """PyTorch's reason for the cell: ``math kernel``, ``fallthrough kernel``, ``missing``."""
    after: str


class KeyMove(msgspec.Struct, frozen=True):
    """A key with another place in the order, given as the keys right below it."""

    key: str
    before: str
    after: str


class AliasChange(msgspec.Struct, frozen=True):
    """The runtime keys that an alias has lost, and those that it has gained, among keys of both releases."""

    alias: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


class OperatorDifference(msgspec.Struct, frozen=True, omit_defaults=True):
    """The differences of an operator that both snapshots have."""

    kernels: tuple[KernelChange, ...] = ()
    schema: SchemaChange | None = None
    cells: tuple[CellChange, ...] = ()


class KeysDifference(msgspec.Struct, frozen=True):
    """The differences of the dispatch keys."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    """A key, and the key that is in its place between the same two keys."""
    moved: tuple[KeyMove, ...]
    aliases: tuple[AliasChange, ...]


class Difference(msgspec.Struct, frozen=True):
    """The differences between two snapshots."""

    before: str
    """The PyTorch of the first snapshot."""
    after: str
    counts: tuple[int, int]
    """The numbers of operators in the two snapshots."""
    keys: KeysDifference
    fallbacks: tuple[KernelChange, ...]
    added: tuple[str, ...]
    """Operators that only the second snapshot has."""
    removed: tuple[str, ...]
    operators: dict[str, OperatorDifference]
    """Operators of both snapshots that differ."""
    left_out: tuple[str, ...]
    """Keys of a backend that only one of the builds has. Their registrations and cells are not compared."""
    unsaid: int
    """The number of kernels that are not compared, because one of the two snapshots does not have their file."""

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        keys = self.keys
        return not any((self.fallbacks, self.added, self.removed, self.operators, *msgspec.structs.astuple(keys)))


def difference(before: Snapshot, after: Snapshot, everything: bool = False) -> Difference:
    """Return the differences between two snapshots. With ``everything`` the result includes keys that only one of the
    builds can have.
    """
    left_out = () if everything else _keys_of_one_build(before, after)
    both = [name for name in before.by_name if name in after.by_name]
    cells = CellComparison(before, after, [key for key in COMPARED if key not in left_out])
    compared = {name: _operator(before.by_name[name], after.by_name[name], left_out, cells) for name in both}
    return Difference(
        before.title,
        after.title,
        (len(before.operators), len(after.operators)),
        _keys(before, after),
        tuple(_kernels(before.fallbacks, after.fallbacks, left_out)),
        tuple(name for name in after.by_name if name not in before.by_name),
        tuple(name for name in before.by_name if name not in after.by_name),
        {name: found for name, found in compared.items() if found != OperatorDifference()},
        left_out,
        _unsaid(before, after) or _unsaid(after, before),
    )


def of_operators(found: Difference, names: Collection[str]) -> Difference:
    """Return the part of the differences that concerns some operators."""
    return msgspec.structs.replace(
        found,
        keys=KeysDifference((), (), (), (), ()),
        fallbacks=(),
        added=tuple(name for name in found.added if name in names),
        removed=tuple(name for name in found.removed if name in names),
        operators={name: one for name, one in found.operators.items() if name in names},
    )


def _keys_of_one_build(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Return the keys of a backend that only one of the builds has, with its autograd keys, whose cells depend on the
    backend's kernels.
    """
    first, second = (BACKENDS.get(snapshot.build.partition(" ")[0], "") for snapshot in (before, after))
    if first == second:
        return ()
    keys = dict.fromkeys((*before.keys, *after.keys))
    return tuple(key for key in keys if _backend(key) in (first, second) and not key.startswith("Autocast"))


def _backend(key: str) -> str:
    """Return the backend of a key, such as ``CUDA`` for SparseCUDA; a key without a backend returns its own name."""
    known = known_key(key)
    return known.backend.name.removesuffix("Bit") if known is not None and known.backend else key


def _unsaid(before: Snapshot, after: Snapshot) -> int:
    """Return the number of kernels, in operators of both, whose file the first snapshot does not have, if the second
    one has all files.
    """
    operators = (operator for operator in before.operators if operator.name in after.by_name)
    return sum(row.file == UNKNOWN_FILE for operator in operators for row in operator.kernels)


def _operator(before: Operator, after: Operator, left_out: Sequence[str], cells: CellComparison) -> OperatorDifference:
    return OperatorDifference(
        tuple(_kernels(before.kernels, after.kernels, left_out)),
        schema_change(before.schema, after.schema),
        tuple(cells.of(before.name)),
    )


# -- schemas ----------------------------------------------------------------------------------------------------------


def schema_change(before: str, after: str) -> SchemaChange | None:
    """Return the change of a schema; None if there is none."""
    if before == after:
        return None
    first, second = _parts(before), _parts(after)
    return SchemaChange(tuple((first - second).elements()), tuple((second - first).elements()))


def _parts(schema: str) -> Counter[str]:
    parsed = parse_schema(schema)
    returns = ", ".join(map(str, parsed.returns))
    return Counter([*map(str, parsed.arguments), f"-> {returns}" if len(parsed.returns) == 1 else f"-> ({returns})"])


# -- registrations ----------------------------------------------------------------------------------------------------


def _kernels(
    before: Sequence[Registration], after: Sequence[Registration], left_out: Sequence[str]
) -> Iterator[KernelChange]:
    if before == after:
        return
    for key in dict.fromkeys(row.key for row in (*before, *after)):
        if key not in left_out or key.startswith("Autograd"):
            yield from _under(key, *([row for row in rows if row.key == key] for rows in (before, after)))


def _under(key: str, before: list[Registration], after: list[Registration]) -> Iterator[KernelChange]:
    """Yield the changes under a key. A removed kernel and a new one are one change."""
    for same in (_identity, _kind_if_unsaid):
        before, after = _without_pairs(before, after, same)
    for position in range(max(len(before), len(after))):
        yield KernelChange(key, *(_text(rows[position]) if position < len(rows) else "" for rows in (before, after)))


def _without_pairs(
    before: list[Registration], after: list[Registration], same: Callable[[Registration, Registration], bool]
) -> tuple[list[Registration], list[Registration]]:
    left, rest = list(after), []
    for row in before:
        if pair := next((other for other in left if same(row, other)), None):
            left.remove(pair)
        else:
            rest.append(row)
    return rest, left


def _identity(one: Registration, other: Registration) -> bool:
    return one.kind == other.kind and one.file == other.file


def _kind_if_unsaid(one: Registration, other: Registration) -> bool:
    return one.kind == other.kind and UNKNOWN_FILE in (one.file, other.file)


def _text(row: Registration) -> str:
    return f"{row.kind} {row.file}"


# -- cells ------------------------------------------------------------------------------------------------------------


class CellComparison:
    """The cells of some keys, computed from either snapshot."""

    def __init__(self, before: Snapshot, after: Snapshot, keys: Iterable[str]) -> None:
        self._registries = snapshot_registry(before), snapshot_registry(after)
        self._keys = [DispatchKey[key] for key in keys]

    def of(self, name: str) -> Iterator[CellChange]:
        """Yield the changed cells of an operator that both snapshots have."""
        for key in self._keys:
            before, after = (_cell(registry, name, key) for registry in self._registries)
            if before != after:
                yield CellChange(key.name, before, after)


def _cell(registry: Registry, name: str, key: DispatchKey) -> str:
    cell = registry.operators[name].compute(key)
    return f"fallthrough {cell.reason}" if cell.falls_through else cell.reason


# -- keys -------------------------------------------------------------------------------------------------------------


def _keys(before: Snapshot, after: Snapshot) -> KeysDifference:
    added = [key for key in after.keys if key not in before.keys]
    removed = [key for key in before.keys if key not in after.keys]
    renamed = tuple(_renamed(before.keys, after.keys, removed, added))
    gone, new = {old for old, _ in renamed}, {new for _, new in renamed}
    return KeysDifference(
        tuple(key for key in added if key not in new),
        tuple(key for key in removed if key not in gone),
        renamed,
        tuple(_moved(before.keys, after.keys)),
        tuple(_aliases(before, after)),
    )


def _renamed(
    before: Sequence[str], after: Sequence[str], removed: Sequence[str], added: Sequence[str]
) -> Iterator[tuple[str, str]]:
    places = {_neighbors(after, key): key for key in added}
    for key in removed:
        if new := places.get(_neighbors(before, key)):
            yield key, new


def _neighbors(keys: Sequence[str], key: str) -> tuple[str, str]:
    at = keys.index(key)
    return keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""


def _moved(before: Sequence[str], after: Sequence[str]) -> Iterator[KeyMove]:
    """Yield the fewest keys, among those of both, whose move makes one order equal to the other."""
    first, second = ([key for key in keys if key in other] for keys, other in ((before, after), (after, before)))
    stay = {
        first[block.a + offset]
        for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
        for offset in range(block.size)
    }
    for key in first:
        if key not in stay:
            yield KeyMove(key, _neighbors(first, key)[0], _neighbors(second, key)[0])


def _aliases(before: Snapshot, after: Snapshot) -> Iterator[AliasChange]:
    both = set(before.keys) & set(after.keys)
    for alias in before.aliases:
        first, second = ([k for k in one.aliases.get(alias, ()) if k in both] for one in (before, after))
        gone, new = (tuple(k for k in keys if k not in other) for keys, other in ((first, second), (second, first)))
        if gone or new:
            yield AliasChange(alias, gone, new)

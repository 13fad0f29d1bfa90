"""A snapshot of the registrations of an installed PyTorch, as a value and as a file.

The file is one JSON object. Its first line identifies the format; keys, aliases, owners, fallbacks and each operator
have a line of their own. ``.json.gz`` is the same compressed. Only ``from_installed`` needs a PyTorch.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.operator_entry import FROM_SCHEMA
from dispatchviz.core.table.registry import Registry
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.unlocked_property import cached_property
from dispatchviz.live.registration import Registration, kernels_by_key, known_key, registered_at, registry_with
from dispatchviz.live.snapshot_file import SNAPSHOTS, looks_like_snapshot

if TYPE_CHECKING:
    from dispatchviz.core.kernel.kernel_function import Kernel
    from dispatchviz.live.installed_registrations import InstalledPyTorch

VERSION = 1
"""The version of the format."""


class SnapshotError(DispatchvizError, ValueError):
    """Raised for a file that is not a snapshot, or that cannot be read or written."""


class Operator(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator with its kernels."""

    name: str
    """``aten::add.Tensor``"""
    schema: str
    place: str
    """The place of its definition: FILE:LINE."""
    kernels: tuple[Registration, ...]
    """The kernels in the order of PyTorch's keys, newest first for each key. All but the first of a key are
    inactive.
    """
    alias_analysis: str = FROM_SCHEMA


class Snapshot(msgspec.Struct, frozen=True, dict=True):
    """The registrations of a PyTorch."""

    dispatchviz_snapshot: Annotated[int, msgspec.Meta(ge=1)]
    """The version of the format."""
    torch: str
    """``2.14.1+cpu``"""
    build: str
    """``CPU``, ``CUDA 12.8``"""
    debug: bool
    git: str
    """The commit that it was built from."""
    keys: tuple[str, ...]
    """The runtime keys that key sets may contain, low to high."""
    aliases: dict[str, tuple[str, ...]]
    """A mapping from each alias key to its runtime keys, limited to keys that PyTorch 2.14 knows."""
    owners: dict[str, str]
    """A mapping from each namespace to the place of its TORCH_LIBRARY block."""
    fallbacks: tuple[Registration, ...]
    operators: tuple[Operator, ...]

    @cached_property
    def by_name(self) -> dict[str, Operator]:
        """Operators by full name."""
        return {operator.name: operator for operator in self.operators}

    @property
    def title(self) -> str:
        """The description of the PyTorch: ``PyTorch 2.14.1+cpu, CPU build, release``."""
        return f"PyTorch {self.torch}, {self.build} build, {'debug' if self.debug else 'release'}"


def from_installed(pytorch: InstalledPyTorch) -> Snapshot:
    """Return the snapshot of the installed PyTorch."""
    from dispatchviz.live.installed_torch import accelerator

    torch = pytorch.torch
    return Snapshot(
        VERSION,
        str(torch.__version__),
        accelerator(torch),
        bool(torch.version.debug),
        str(torch.version.git_version),
        pytorch.keys,
        {alias.name: tuple(key.name for key in sorted(found)) for alias, found in pytorch.alias_members.items()},
        dict(pytorch.owners()),
        pytorch.registered_fallbacks,
        tuple(_operator(pytorch, name) for name in pytorch.names()),
    )


def _operator(pytorch: InstalledPyTorch, name: str) -> Operator:
    schema, debug, alias_analysis = pytorch.definition(name)
    place = debug.removeprefix("registered at ")
    return Operator(name, schema, place, tuple(pytorch.registered(name)), alias_analysis)


# -- the file ---------------------------------------------------------------------------------------------------------


_IN_FIRST_LINE = 5


def snapshot_text(snapshot: Snapshot) -> str:
    """Return the text of the file: JSON with a line for each operator."""
    *head, _ = ((name, getattr(snapshot, name)) for name in snapshot.__struct_fields__)
    facts = [f'"{name}":{_json(value)},' for name, value in head]
    operators = ",\n".join(map(_json, snapshot.operators))
    return "\n".join(
        (f"{{{''.join(facts[:_IN_FIRST_LINE])}", *facts[_IN_FIRST_LINE:], '"operators":[', operators, "]}\n")
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def write_snapshot(snapshot: Snapshot, path: str | Path) -> None:
    """Write a snapshot, compressed if the name ends in ``.gz``. Raise SnapshotError if the file cannot be written."""
    data = snapshot_text(snapshot).encode()
    try:
        write_whole(path, gzip.compress(data, mtime=0) if str(path).lower().endswith(".gz") else data)
    except OSError as error:
        raise SnapshotError(f"cannot write {path}: {error.strerror or error}") from None


def read_snapshot(path: str | Path) -> Snapshot:
    """Return the snapshot in a file. Raise SnapshotError if it cannot be read or is not a snapshot."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise SnapshotError(f"cannot read {path}: {error.strerror or error}") from None
    return decoded(raw, path)


def decoded(raw: bytes, path: str | Path) -> Snapshot:
    """Return the snapshot in some bytes. Errors call them ``path``."""
    if not looks_like_snapshot(raw):
        raise SnapshotError(f"{path} is not a snapshot: dispatchviz snapshot -o FILE{SNAPSHOTS[0]} writes one")
    try:
        text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
        _check_version(text, path)
        return msgspec.json.decode(text, type=Snapshot)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotError(f"{path} is a damaged snapshot: {error}; write it again") from None


def _check_version(text: bytes, path: str | Path) -> None:
    """Raise SnapshotError if the file has a later version, whose additions are unknown."""
    version = msgspec.json.decode(text, type=_Version).dispatchviz_snapshot
    if version > VERSION:
        raise SnapshotError(
            f"{path} has version {version} of the format and this dispatchviz reads {VERSION}: install a newer one"
        )


class _Version(msgspec.Struct):
    dispatchviz_snapshot: int


# -- as a registry ----------------------------------------------------------------------------------------------------


class SnapshotStock:
    """The operators of a snapshot, as a registry's stock. Their kernels have no names."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def names(self) -> Iterable[str]:
        """Return the full names of all operators."""
        return self.snapshot.by_name

    def owners(self) -> dict[str, str]:
        """Return a mapping from each namespace to the place of its DEF library."""
        return self.snapshot.owners

    def schema(self, name: str) -> FunctionSchema:
        """Return the schema of an operator. Like the methods below, raise KeyError if there is no such operator."""
        return parse_schema(self.snapshot.by_name[name].schema)

    def debug(self, name: str) -> str:
        """Return the place where an operator was defined."""
        return registered_at(self.snapshot.by_name[name].place)

    def alias_analysis(self, name: str) -> str:
        """Return the kind of alias analysis, as dumps print it."""
        return self.snapshot.by_name[name].alias_analysis

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Return the kernels of an operator by the keys and aliases that PyTorch 2.14 has, newest first."""
        return kernels_by_key(_unnamed(self.snapshot.by_name[name].kernels))


def snapshot_registry(snapshot: Snapshot) -> Registry:
    """Return a registry with the contents of a snapshot. Its tables follow the aliases of that release."""
    members = {DispatchKey[alias]: _known(names) for alias, names in snapshot.aliases.items()}
    fallbacks = {key: kernel for key, (kernel,) in kernels_by_key(_unnamed(snapshot.fallbacks)).items()}
    return registry_with(SnapshotStock(snapshot), fallbacks, members)


def _known(names: Iterable[str]) -> frozenset[DispatchKey]:
    return frozenset(key for key in map(known_key, names) if key is not None)


def _unnamed(rows: Iterable[Registration]) -> Iterator[tuple[Registration, str]]:
    """Yield registrations with empty kernel names, because a snapshot has no names of kernels."""
    return ((row, "") for row in rows)

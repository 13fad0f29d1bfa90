"""Sentences on how the registrations of some operators in an installed release differ from those of the model's
release.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.table.pytorch_registrations import (
    pytorch_fallbacks,
    pytorch_operators,
    pytorch_registrations,
    pytorch_schema,
    pytorch_version,
)
from dispatchviz.foundation.english import listed
from dispatchviz.live.registration import Registration, place_in
from dispatchviz.live.snapshot import VERSION, Operator, Snapshot
from dispatchviz.live.snapshot_difference import OperatorDifference, difference


def release_changes(installed: Snapshot, names: Collection[str], keys: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each operator in ``names`` that the two releases register differently.

    Only kernels under an alias or under a key in ``keys`` count.
    """
    ours, release = snapshot_of_model(names, installed.build), installed.torch.partition("+")[0]
    theirs = msgspec.structs.replace(
        installed, operators=tuple(one for one in installed.operators if one.name in names)
    )
    found = difference(ours, theirs)
    for name in found.added:
        yield f"PyTorch {release} has {name}, and PyTorch {ours.torch} does not"
    for name in found.removed:
        yield f"PyTorch {ours.torch} has {name}, and PyTorch {release} does not"
    for name, one in found.operators.items():
        if changes := list(_changes(one, {*keys, *ours.aliases})):
            yield f"PyTorch {release} registers {name} differently from PyTorch {ours.torch}: {listed(changes)}"


def _changes(one: OperatorDifference, keys: Collection[str]) -> Iterator[str]:
    """Yield the differences of an operator. A kernel that only moved to another file is the same kernel."""
    if one.schema is not None:
        yield "its schema differs"
    cells = {change.key: change for change in one.cells if change.key in keys}
    for change in cells.values():
        yield f"the cell of {change.key} has {change.after} instead of {change.before}"
    for kernel in one.kernels:
        if kernel.key in keys and kernel.key not in cells and kernel.what != "moved":
            yield f"the kernel for {kernel.key} is {kernel.after or 'gone'}{_before(kernel.before)}"


def _before(kernel: str) -> str:
    return f" (before: {kernel})" if kernel else " (before: none)"


def snapshot_of_model(names: Collection[str], installed_build: str) -> Snapshot:
    """Return the snapshot of the model's release, with these operators and the same kind of build."""
    build = "cuda" if installed_build.startswith(("CUDA", "ROCm")) else "cpu"
    known = [name for name in names if name in pytorch_operators()]
    operators = (
        Operator(name, pytorch_schema(name), "", tuple(_row(*one) for one in pytorch_registrations(name, build)))
        for name in known
    )
    return Snapshot(
        VERSION,
        pytorch_version().partition("+")[0],
        build.upper(),
        False,
        "",
        tuple(key.name for key in DispatchKey),
        {alias.name: tuple(key.name for key in sorted(found)) for alias, found in ALIAS_MEMBERS.items()},
        {},
        tuple(_row(*one) for one in pytorch_fallbacks()),
        tuple(operators),
    )


def _row(key: DispatchKey, kernel: Kernel) -> Registration:
    place = place_in(kernel.debug)
    if kernel.fallthrough:
        return Registration(key.name, "fallthrough", place)
    if not kernel.signature:
        return Registration(key.name, "boxed", place)
    return Registration(key.name, "unboxed" if kernel.unboxed else "sym_unboxed", place)

"""Precedence in the dispatch table: the possible sources of a cell's kernel, and the cells that a change recomputes.

Mirrors ``OperatorEntry::computeDispatchTableEntryWithDebug`` and ``updateDispatchTable_`` of
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``. Everything here depends on keys alone; which of the sources has a
kernel is ``operator_entry.py``'s business.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from dispatchviz.core.keys.key_set import AUTOGRAD_KEY, BACKENDS_OF_AUTOGRAD, highest_backend
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, CELL, RUNTIME_KEYS, DispatchKey

if TYPE_CHECKING:
    from dispatchviz.core.record.events.dispatch_events import CellReason

K = DispatchKey

KERNEL: Final = "kernel"
DEFAULT_BACKEND: Final = "default backend kernel"
NESTED: Final = "nested kernel"
AMBIGUOUS: Final = "ambiguous autogradother"
MATH: Final = "math kernel"
AUTOGRAD: Final = "autograd kernel"
BATCHED: Final = "batched kernel"
FALLBACK: Final = "backend fallback"
MISSING: Final = "missing"
"""Why a cell holds what it holds: the tags that PyTorch's dumps print."""


class PrecedenceRule(NamedTuple):
    """A step of ``computeDispatchTableEntryWithDebug``: a source of the kernel of one cell."""

    source: DispatchKey
    """The key or alias of the registration; for the backend fallback the cell's own key."""
    reason: CellReason
    covers: bool = True
    """False: an alias that does not include this key; a kernel under it is only reported."""


Members = Mapping[DispatchKey, frozenset[DispatchKey]]
"""Alias to its runtime keys."""


def _rules(key: DispatchKey, members: Members) -> Iterator[PrecedenceRule]:
    """In order of precedence. The number of each step is PyTorch's."""
    undefined = key == K.Undefined

    def alias(source: DispatchKey, reason: CellReason, for_undefined: bool = False) -> PrecedenceRule:
        return PrecedenceRule(source, reason, key in members[source] or (undefined and for_undefined))

    if not undefined:
        yield PrecedenceRule(key, KERNEL)  # 1
    yield alias(K.CompositeExplicitAutogradNonFunctional, DEFAULT_BACKEND, for_undefined=True)  # 2.1
    yield alias(K.CompositeExplicitAutograd, DEFAULT_BACKEND, for_undefined=True)  # 2.2
    yield alias(K.CompositeImplicitAutogradNestedTensor, NESTED)  # 2.3
    yield alias(K.CompositeImplicitAutograd, MATH, for_undefined=True)  # 2.3
    yield alias(K.Autograd, AUTOGRAD)  # 2.4
    yield alias(K.FuncTorchBatchedDecomposition, BATCHED)  # 2.5
    if not undefined:
        yield PrecedenceRule(key, FALLBACK)  # 3


Rules = Mapping[DispatchKey, tuple[PrecedenceRule, ...]]
"""Of each cell, best first."""


def rules_with(members: Members) -> Rules:
    """Those of a PyTorch whose aliases have these members: releases differ in that alone."""
    return {key: tuple(_rules(key, members)) for key in RUNTIME_KEYS}


def covering(rules: Rules) -> Rules:
    """The rules that can fill a cell."""
    return {key: tuple(rule for rule in found if rule.covers) for key, found in rules.items()}


RULES = rules_with(ALIAS_MEMBERS)
COVERING_RULES = covering(RULES)

_BITS = [(key, key.bits) for key in K if key.bits]

BACKEND_KEYS_FROM_AUTOGRAD: dict[DispatchKey, frozenset[DispatchKey]] = {
    key: frozenset(k for k, bits in _BITS if BACKENDS_OF_AUTOGRAD[key] & bits == bits) for key in RUNTIME_KEYS
}
"""Keys whose own kernels keep CompositeImplicitAutograd out of a cell; AutogradOther they make ambiguous.

Building blocks count too: a kernel for Dense fills no cell, and still it is one for every backend.
"""


@functools.cache
def affected_by(key: DispatchKey) -> tuple[DispatchKey, ...]:
    """The cells that PyTorch recomputes when something changes under ``key``.

    Not every cell whose content would change is among them: those stay stale, in PyTorch too.
    """
    return tuple(_affected_by(key))


def _affected_by(key: DispatchKey) -> Iterator[DispatchKey]:
    if key == K.Undefined:
        yield key
        return
    yield from (runtime for runtime in RUNTIME_KEYS if runtime in ALIAS_MEMBERS.get(key, ()))
    if key in CELL:
        yield key
    if key in _ALSO_UNDEFINED:
        yield K.Undefined
    if key in ALIAS_MEMBERS[K.CompositeExplicitAutograd]:
        yield AUTOGRAD_KEY[highest_backend(key.bits)]


_ALSO_UNDEFINED = (
    K.CompositeImplicitAutograd,
    K.CompositeExplicitAutograd,
    K.CompositeExplicitAutogradNonFunctional,
)

"""Precedence in the dispatch table: the possible sources of an entry's kernel, and the entries that a change
recomputes.

This module mirrors ``OperatorEntry::computeDispatchTableEntryWithDebug`` and ``updateDispatchTable_`` of
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``. Everything here depends on keys alone. ``operator_entry.py`` decides
which of the sources has a kernel.
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
"""The reasons for an entry's kernel: the tags that PyTorch's dumps print."""


class PrecedenceRule(NamedTuple):
    """A step of ``computeDispatchTableEntryWithDebug``: a source of the kernel of one entry."""

    source: DispatchKey
    """The key or alias of the registration. For the backend fallback it is the entry's own key."""
    reason: CellReason
    covers: bool = True
    """False for an alias that does not include this key. A kernel under it is only reported."""


Members = Mapping[DispatchKey, frozenset[DispatchKey]]
"""Aliases and their runtime keys."""


def _rules(key: DispatchKey, members: Members) -> Iterator[PrecedenceRule]:
    """Yield the rules in order of precedence, with PyTorch's number of each step."""
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
"""The rules of each entry, best first."""


def rules_with(members: Members) -> Rules:
    """Return the rules of a PyTorch whose aliases have these members. Releases differ only in that."""
    return {key: tuple(_rules(key, members)) for key in RUNTIME_KEYS}


def covering(rules: Rules) -> Rules:
    """The rules that can fill an entry."""
    return {key: tuple(rule for rule in found if rule.covers) for key, found in rules.items()}


RULES = rules_with(ALIAS_MEMBERS)
COVERING_RULES = covering(RULES)

_BITS = [(key, key.bits) for key in K if key.bits]


def _with_bits_of(ks: int) -> frozenset[DispatchKey]:
    return frozenset([key for key, bits in _BITS if ks & bits == bits]) if ks else frozenset()


BACKEND_KEYS_FROM_AUTOGRAD: dict[DispatchKey, frozenset[DispatchKey]] = {
    key: _with_bits_of(BACKENDS_OF_AUTOGRAD[key]) for key in RUNTIME_KEYS
}
"""Keys whose own kernels prevent CompositeImplicitAutograd from filling an entry, or make that of AutogradOther
ambiguous.

Building blocks count too: a kernel for Dense fills no entry, but counts as one for every backend.
"""


@functools.cache
def affected_by(key: DispatchKey) -> tuple[DispatchKey, ...]:
    """The entries that PyTorch recomputes after a change under ``key``.

    Some entries whose content would change are missing. They become stale, as in PyTorch.
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

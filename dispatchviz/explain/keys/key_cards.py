"""A dispatch key: its bits, its table entries, its aliases, the tensors that have it, the operators with a kernel for
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.key_set import AUTOGRAD_KEY, BACKENDS_OF_AUTOGRAD, members
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, ALIASES, CELL, RUNTIME_KEYS, DispatchKey, parse_dispatch_key
from dispatchviz.core.table.pytorch_registrations import operators_with
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.keys.key_order import ALIAS_TEXTS
from dispatchviz.explain.keys.key_text import grouped_keys_text, is_autograd, is_backend, purpose, shown
from dispatchviz.explain.keys.named_key_sets import backend_of, tensor_set
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import (
    AliasKeys,
    BackendKeys,
    FallbackIs,
    OperatorsRegistered,
    OperatorsServed,
    Unparsable,
)
from dispatchviz.foundation.english import capital, counted, listed

K = DispatchKey


class KeyCard(NamedTuple):
    """The content of ``keys KEY``."""

    name: str
    kind: str
    """``runtime key``, ``functionality`` (a key for each backend) or ``alias``."""
    value: int
    raw: int
    cells: tuple[int, ...]
    aliases: tuple[str, ...]
    """The aliases that cover it."""
    members: tuple[str, ...]
    """The runtime keys of an alias or of a functionality."""
    fallback: str
    """The name and location of its fallback; empty if it has none."""
    registered: tuple[str, ...]
    """The operators with a kernel for the key itself."""
    served: int | None
    """The number of operators with a kernel in its entry, for keys without a fallback, where counting is cheap."""
    sentences: tuple[str, ...]


def key_card(key: DispatchKey, registry: Registry, build: str) -> KeyCard:
    """The card of a key, a functionality or an alias."""
    runtime = tuple(cell for cell in RUNTIME_KEYS if _covers(key, cell))
    fallback = registry.fallbacks.get(key)
    registered = tuple(sorted(operators_with(key, build)))
    served = _served(key, build) if key in CELL and fallback is None else None
    return KeyCard(
        name=str(key),
        kind="alias" if key.is_alias else "runtime key" if key in CELL else "functionality",
        value=int(key),
        raw=ALIASES[key] if key.is_alias else key.bits,
        cells=tuple(CELL[cell] for cell in runtime),
        aliases=tuple(alias.name for alias in ALIASES if key in ALIAS_MEMBERS[alias]),
        members=() if key in CELL else tuple(map(str, runtime)),
        fallback=f"{fallback.name}, {fallback.debug}" if fallback else "",
        registered=registered,
        served=served,
        sentences=tuple(said.text for said in _sentences(key, registered, served, registry)),
    )


def key_statements(key: DispatchKey, registry: Registry, build: str) -> Iterator[Statement]:
    """The sentences of the card, with their claims about PyTorch."""
    fallback = registry.fallbacks.get(key)
    served = _served(key, build) if key in CELL and fallback is None else None
    yield from _sentences(key, tuple(sorted(operators_with(key, build))), served, registry)


def _covers(key: DispatchKey, runtime: DispatchKey) -> bool:
    if key.is_alias:
        return runtime in ALIAS_MEMBERS[key]
    return runtime == key or (key not in CELL and runtime.functionality == key)


def _served(key: DispatchKey, build: str) -> int:
    """The number of operators whose entry is not empty: with a kernel for the key or for an alias that fills the entry.

    A kernel for CompositeExplicitAutograd keeps CompositeImplicitAutograd out, even if it does not cover the key
    itself.
    """
    found = set(operators_with(key, build))
    covering = [alias for alias in ALIASES if key in ALIAS_MEMBERS[alias]]
    for alias in covering:
        found |= operators_with(alias, build) - _objections(alias, key, build)
    return len(found)


def _objections(alias: DispatchKey, key: DispatchKey, build: str) -> frozenset[str]:
    if alias != K.CompositeImplicitAutograd or key == K.AutogradOther:
        return frozenset()
    objectors = [K.CompositeExplicitAutograd, *members(BACKENDS_OF_AUTOGRAD[key])]
    return frozenset().union(*(operators_with(objector, build) for objector in objectors))


def _sentences(
    key: DispatchKey, registered: tuple[str, ...], served: int | None, registry: Registry
) -> Iterator[Statement]:
    """The text of a key's card."""
    if key.is_alias:
        yield from _alias(key)
        yield _counted(key, registered)
        return
    if key == K.Undefined:
        text = (
            "Undefined is the dispatch table entry of calls with an empty key set. No kernel can be registered for it, "
            "but the Composite aliases fill it."
        )
        yield Statement("key: Undefined", text)
        return
    yield _what(key)
    yield from _carriers(key)
    if key in CELL:
        yield _fallback(key, registry)
    yield _counted(key, registered)
    if served is not None:
        yield Statement(
            "key: operators served",
            f"With the kernels of its aliases, {counted(served, 'operator')} of {len(registry.names())} can be called "
            f"with {key} as the highest key. The others raise an error: Could not run ... with arguments from the "
            f"'{key}' backend.",
            (OperatorsServed(str(key), served),),
        )
    if key in CELL:
        yield from _unparsable(key)


def _what(key: DispatchKey) -> Statement:
    if key in CELL:
        return Statement("key: purpose", f"{key} {purpose(key.functionality)}.")
    return Statement(
        "key: functionality",
        f"{key} {purpose(key)}. It is a functionality: one bit for all backends, which forms a runtime key together "
        "with a backend bit. A kernel registered for it reaches no dispatch table entry. Register kernels for its "
        "keys.",
    )


def _carriers(key: DispatchKey) -> Iterator[Statement]:
    """The tensors that have the key."""
    backend = backend_of(key)
    if key not in CELL or backend is None:
        return
    carries = (BackendKeys(str(backend), tensor_set(backend)),)
    own = AUTOGRAD_KEY[backend.backend]
    if key == K.AutogradOther:
        text = "Tensors of backends without an autograd key of their own have it: HIP, VE, MKL-DNN, FPGA, Vulkan, ..."
        yield Statement("key: AutogradOther's tensors", text, carries)
    elif is_autograd(key.name) and key not in (own, K.AutogradNestedTensor):
        yield Statement("key: no tensor has it", f"No tensor has it, because tensors of {backend} have {own}.", carries)
    elif key == K.AutogradNestedTensor:
        text = "Every nested tensor has it, in addition to the autograd key of its device."
        yield Statement("key: nested tensors have it", text, carries)
    elif is_backend(key.name):
        text = f"Every ordinary {backend} tensor has it from the moment it is made: {shown(tensor_set(backend))}."
        yield Statement("key: tensors of the backend", text, carries)
    else:
        yield _autograd_of(key, backend, carries)


def _autograd_of(key: DispatchKey, backend: DispatchKey, carries: tuple[BackendKeys, ...]) -> Statement:
    begin = f"Every ordinary {backend} tensor has it, whether it requires grad or not: {shown(tensor_set(backend))}."
    backends = listed([str(found) for found in members(BACKENDS_OF_AUTOGRAD[key])])
    text = (
        f"{begin} Its dispatch table entry holds an operator's composite kernel only if {backends} has no kernel of "
        "its own."
    )
    return Statement("key: autograd key", text, carries)


def _alias(key: DispatchKey) -> Iterator[Statement]:
    covered = grouped_keys_text(sorted(ALIAS_MEMBERS[key]))
    undefined = key in (
        K.CompositeImplicitAutograd,
        K.CompositeExplicitAutograd,
        K.CompositeExplicitAutogradNonFunctional,
    )
    yield Statement(
        "alias: definition",
        f"It is an alias: a name to register a kernel for {counted(len(ALIAS_MEMBERS[key]), 'key')} at once. It has "
        "no bit, no dispatch table entry, and is in no key set. When a kernel is registered for it, the kernel fills "
        "the entries of its keys that have no kernel of higher precedence.",
    )
    yield Statement("alias: covers", f"It covers {ALIAS_TEXTS[key]}.")
    yield Statement(
        "alias: keys",
        f"Its keys: {covered}{'; it also fills the entry of Undefined' if undefined else ''}.",
        (AliasKeys(str(key), tuple(map(str, sorted(ALIAS_MEMBERS[key])))),),
    )


def _fallback(key: DispatchKey, registry: Registry) -> Statement:
    fallback = registry.fallbacks.get(key)
    text = fallback_text(fallback)
    if fallback is None:
        return Statement("key: no fallback", text, (FallbackIs(str(key), "none"),))
    if fallback.fallthrough:
        return Statement("key: fallthrough", text, (FallbackIs(str(key), "fallthrough"),))
    return Statement("key: fallback", text, (FallbackIs(str(key), "kernel"),))


def fallback_text(fallback: Kernel | None) -> str:
    """The sentence on the fallback of a key, or that it has none."""
    if fallback is None:
        return "It has no fallback, so the entry is empty if an operator has no kernel."
    if fallback.fallthrough:
        return "Its fallback is a fallthrough, so calls skip the key unless an operator registers a kernel for it."
    return f"Its fallback, {fallback.name}, serves every operator that registers nothing better."


def _counted(key: DispatchKey, registered: tuple[str, ...]) -> Statement:
    claims = (OperatorsRegistered(str(key), len(registered)),)
    if not registered:
        return Statement("key: nothing registered", counted_text(str(key), registered), claims)
    return Statement("key: operators registered", counted_text(str(key), registered), claims)


def counted_text(key: str, registered: tuple[str, ...]) -> str:
    """The sentence on the operators that register a kernel for a key."""
    if not registered:
        return f"No operator registers a kernel for {key} itself."
    verb = "registers" if len(registered) == 1 else "register"
    some = ", ".join(registered[:3]) + (", ..." if len(registered) > 3 else "")
    return f"{capital(counted(len(registered), 'operator'))} {verb} a kernel for {key} itself: {some}"


def _unparsable(key: DispatchKey) -> Iterator[Statement]:
    try:
        parse_dispatch_key(key.name)
    except RuntimeError:
        yield Statement(
            "key: name cannot be parsed",
            f"PyTorch cannot parse this name (could not parse dispatch key: {key}), so Python code cannot register "
            "kernels for it.",
            (Unparsable(str(key)),),
        )

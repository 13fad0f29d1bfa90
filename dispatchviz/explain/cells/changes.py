"""What would change a cell: registrations tried on a copy of the operator, and what became of its table.

No table of consequences is kept here. Each registration that a reader may think of is really made, on a copy, and the
cells that changed, the way of an ordinary call, and the cells that PyTorch forgets to recompute are read off the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dispatchviz.core.dump import stale_keys
from dispatchviz.core.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.keyset import AUTOGRAD_KEY
from dispatchviz.core.operator import Cell, OperatorEntry
from dispatchviz.core.precedence import AMBIGUOUS, AUTOGRAD, FALLBACK, KERNEL, MATH, MISSING
from dispatchviz.core.registry import Registry
from dispatchviz.explain.cells.groups import said_keys
from dispatchviz.explain.cells.path import way
from dispatchviz.explain.cells.tables import SKIP, YOURS, cell_of, copy_of
from dispatchviz.explain.english import capital, counted
from dispatchviz.explain.key_words import is_autograd, is_backend
from dispatchviz.explain.tensor_keys import backend_of

K = DispatchKey


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell that a registration changed, as it is afterwards."""

    key: str
    kernel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """A registration that was tried."""

    what: str
    """``m.impl("linear", your kernel)``; ``taking away VariableType::linear``."""
    under: str
    """The key or alias."""
    effects: tuple[Effect, ...]
    """Every cell that it changed, in cell order."""
    sentences: tuple[str, ...]


def changes(op: OperatorEntry, cell: Cell, registry: Registry) -> list[Change]:
    """What may be registered, or taken away, and what each of it does to the cell and around it."""
    return [*_kernels(op, cell, registry), *_without(op, cell, registry), *_skipping(op, cell, registry)]


def _kernels(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Change]:
    for source in _sources(cell.key):
        tried = copy_of(op, registry)
        tried.register(source, YOURS)
        effects = _effects(op, tried)
        if source != cell.key and cell.key not in effects:
            continue
        yield _change(f'm.impl("{_short(op)}", your kernel)', source, op, tried, cell, effects)


def _sources(key: DispatchKey) -> Iterator[DispatchKey]:
    """Keys and aliases whose kernels may reach a cell: its own, its backend's, and every alias that covers it."""
    if key != K.Undefined:
        yield key
    backend = backend_of(key)
    if is_autograd(key.name) and backend is not None and AUTOGRAD_KEY[backend.backend] == key:
        yield backend
    yield from (alias for alias, members in ALIAS_MEMBERS.items() if key in members or key == K.Undefined)


def _short(op: OperatorEntry) -> str:
    return op.name.partition("::")[2]


def _effects(op: OperatorEntry, tried: OperatorEntry) -> dict[DispatchKey, Cell]:
    """The cells that another kernel is in, or another reason, or that are empty now."""
    pairs = zip(op.table, tried.table, strict=True)
    return {old.key: new for old, new in pairs if (old.kernel, old.reason) != (new.kernel, new.reason)}


def _change(
    what: str, under: DispatchKey, op: OperatorEntry, tried: OperatorEntry, cell: Cell, effects: dict[DispatchKey, Cell]
) -> Change:
    sentences = [
        *_here(under, cell, effects),
        *_elsewhere(under, op, cell, effects),
        *_reached(under, tried),
        *_stale(tried),
    ]
    shown = tuple(Effect(str(new.key), new.kernel.name if new.kernel else "", new.reason) for new in effects.values())
    return Change(what, str(under), shown, tuple(sentences))


def _here(under: DispatchKey, cell: Cell, effects: dict[DispatchKey, Cell]) -> Iterator[str]:
    new = effects.get(cell.key)
    if new is None:
        yield f"The {cell.key} cell stays as it is."
        return
    inactive = cell.reason == KERNEL and cell.kernel is not None and new.kernel is YOURS and new.reason == KERNEL
    behind = f"; {cell.kernel.name} waits behind it, inactive" if inactive and cell.kernel else ""
    yield f"The {cell.key} cell then holds {_named(new)}{behind}."
    if new.kernel is not YOURS:
        yield from _consequence(under, cell, new)


def _elsewhere(under: DispatchKey, op: OperatorEntry, cell: Cell, effects: dict[DispatchKey, Cell]) -> Iterator[str]:
    """The other cells that changed, those that changed alike together; autograd cells with what that means."""
    others = {key: new for key, new in effects.items() if key != cell.key}
    alike: dict[str, list[DispatchKey]] = {}
    for key, new in others.items():
        if new.kernel is not YOURS:
            alike.setdefault(_named(new), []).append(key)
    for named, keys in alike.items():
        old = cell_of(op, keys[0])
        holds = "holds" if len(keys) == 1 else "hold"
        yield f"{capital(said_keys(keys))} then {holds} {named} (before: {_named(old)})."
        yield from _consequence(under, old, others[keys[0]])
    if mine := sum(new.kernel is YOURS for new in others.values()):
        yield f"So {'does' if mine == 1 else 'do'} {counted(mine, 'other cell')}."


def _named(cell: Cell) -> str:
    if cell.kernel is None:
        return "nothing"
    return f"{cell.kernel.name} [{cell.reason}]"


def _consequence(under: DispatchKey, old: Cell, new: Cell) -> Iterator[str]:
    """What it means that an autograd cell lost its composite kernel, or got it."""
    if not is_autograd(new.key.name):
        if new.reason == MISSING:
            yield f"Calls that come there then fail: Could not run ... with arguments from the '{new.key}' backend."
        return
    if old.reason == MATH and new.reason != AMBIGUOUS and is_backend(under.name):
        yield (
            "That is meant so: at an autograd key the composite takes a call apart before it can reach the backend, "
            "and your kernel would never run. So a backend's own kernel switches the composite off there."
        )
    if new.reason == AUTOGRAD and new.kernel is not None:
        yield (
            f"{new.kernel.name} makes the operator's Node and passes the call on to the kernel below; backward then "
            "calls PyTorch's formula of this operator, whose operators the backend needs, too."
        )
    elif new.reason == FALLBACK and old.reason == MATH:
        yield (
            "Nothing is registered to Autograd for this operator, since its composite needed no derivative of its "
            f"own. So {new.key} is left with its fallback: the call works, and the gradient ends there, unless your "
            "kernel calls differentiable operators itself. Register a "
            f"kernel for {new.key} as well, or leave the composite alone and register what it calls{_parts(new)}. (In "
            "releases whose autograd key had no fallback the call failed: Could not run ... with arguments from the "
            f"'{new.key}' backend.)"
        )
    elif new.reason == FALLBACK and old.reason != FALLBACK:
        yield "The fallback only passes the call on: the result is computed, the operator's own gradient ends there."
    elif new.reason == MISSING:
        yield f"Calls then fail: Could not run ... with arguments from the '{new.key}' backend."
    elif new.reason == AMBIGUOUS:
        yield "Calls then fail: PyTorch cannot choose between the composite and the backend's kernel."
    elif new.reason == MATH:
        yield "The composite takes the call apart there, and the derivative comes from its parts."


PARTS = {"aten::to": "aten::_to_copy", "aten::reshape": "aten::view, aten::clone and aten::_unsafe_view"}
"""What some composites come down to on any backend."""


def _parts(cell: Cell) -> str:
    parts = PARTS.get(cell.operator.name.partition(".")[0])
    return f" ({parts})" if parts else ""


def _reached(under: DispatchKey, tried: OperatorEntry) -> Iterator[str]:
    """Whether an ordinary tensor of a backend comes to a kernel registered for it."""
    if not is_backend(under.name):
        return
    cells = way(tried, under).cells
    if any(cell.kernel is YOURS for cell in cells):
        return
    last = cells[-1]
    yield (
        f"But a call with an ordinary {under} tensor never gets there: it lands in {last.key}, which holds "
        f"{_named(last)} and does not ask whether {under} has a kernel. The new kernel runs only below autograd, as in "
        "inference mode."
    )


def _stale(tried: OperatorEntry) -> Iterator[str]:
    stale = stale_keys(tried)
    if stale:
        yield (
            f"PyTorch does not recompute {said_keys(stale)} then: until another change does, what is in there is out "
            "of date, and PyTorch's own invariant check fails."
        )


def _without(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Change]:
    """The kernel that fills the cell, taken away: who comes next."""
    source, kernel = cell.source, cell.kernel
    if source is None or kernel is None or cell.reason in (FALLBACK, AMBIGUOUS) or kernel.fallthrough:
        return
    tried = copy_of(op, registry)
    tried.deregister(source, kernel)
    effects = _effects(op, tried)
    yield _change(f"without {kernel.name}", source, op, tried, cell, {cell.key: effects[cell.key]})


def _skipping(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Change]:
    """A fallthrough under the key: calls skip it, redispatches do not."""
    key = cell.key
    if key == K.Undefined or (cell.kernel is not None and cell.kernel.fallthrough):
        return
    tried = copy_of(op, registry)
    tried.register(key, SKIP)
    effects = _effects(op, tried)
    sentences = ("It would do nothing but take the key out of the mask of calls.", *_next(key, tried), *_loop(key))
    shown = tuple(Effect(str(new.key), new.kernel.name if new.kernel else "", new.reason) for new in effects.values())
    yield Change(f'm.impl("{_short(op)}", fallthrough)', str(key), shown, sentences)


def _next(key: DispatchKey, tried: OperatorEntry) -> Iterator[str]:
    backend = backend_of(key)
    if backend is None:
        return
    first = way(tried, backend).cells[0]
    if is_backend(key.name):
        last = way(tried, backend).cells[-1]
        yield f"A call with an ordinary {backend} tensor would end at {last.key}: {_named(last)}."
    else:
        yield f"A call with an ordinary {backend} tensor would begin at {first.key}: {_named(first)}."


def _loop(key: DispatchKey) -> Iterator[str]:
    if key == K.PythonDispatcher:
        yield (
            "This key is the one that loops: every FULL_AFTER set keeps PythonDispatcher, so a kernel that masks its "
            "set and passes the call on comes here again, at every level."
        )
        return
    yield (
        "redispatch uses no mask. If a kernel passes on a set that still has the key, a fallthrough there is an "
        "internal error; and a kernel that passes on its own set unchanged calls itself for ever."
    )

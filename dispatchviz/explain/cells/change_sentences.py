"""Sentences on a registration that was tried: its effect on the entry, on other entries, on calls, and stale
entries.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.dump import stale_keys
from dispatchviz.core.table.operator_entry import Cell
from dispatchviz.core.table.precedence import AMBIGUOUS, AUTOGRAD, FALLBACK, KERNEL, MATH, MISSING
from dispatchviz.explain.cells.cell_path import call_path
from dispatchviz.explain.cells.pytorch_tables import YOURS, cell_of
from dispatchviz.explain.cells.tried_registrations import IMPL, WITHOUT, Tried, kernel_of
from dispatchviz.explain.keys.key_text import grouped_keys_text, is_autograd, is_backend
from dispatchviz.explain.keys.named_key_sets import backend_of
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import CellAfter, StaleAfter
from dispatchviz.foundation.english import capital, counted, listed

K = DispatchKey


def of_kernel(tried: Tried, cell: Cell) -> tuple[Statement, ...]:
    """The sentences on a kernel that the reader registers."""
    return (*_here(tried, cell), *_elsewhere(tried, cell), *_reached(tried), *_stale(tried))


def of_removal(tried: Tried, cell: Cell) -> tuple[Statement, ...]:
    """The sentences on the kernel in the entry, deregistered."""
    return (*_here(tried, cell), *_elsewhere(tried, cell), *_path_without(tried, cell), *_stale(tried))


def of_fallthrough(tried: Tried) -> tuple[Statement, ...]:
    """The sentences on a fallthrough that the reader registers."""
    return (*_masked(tried), *_next(tried), *_stale(tried), *_loop(tried))


# -- the cell, and others ---------------------------------------------------------------------------------------------


def _here(tried: Tried, cell: Cell) -> Iterator[Statement]:
    new = tried.effects.get(cell.key)
    if new is None:
        text = f"The entry for {cell.key} stays as it is."
        yield Statement("change: cell stays", text, tried.holds(cell_of(tried.after, cell.key)))
        return
    inactive = cell.reason == KERNEL and cell.kernel is not None and new.kernel is YOURS and new.reason == KERNEL
    behind = f". {cell.kernel.name} is kept behind it but inactive" if inactive and cell.kernel else ""
    yield Statement(
        "change: cell holds", (f"The entry for {cell.key} then holds {_named(new)}{behind}."), tried.holds(new)
    )
    if new.kernel is not YOURS:
        yield from _consequence(tried, cell, [new])


def _elsewhere(tried: Tried, cell: Cell) -> Iterator[Statement]:
    """The other entries that changed, grouped by their change; autograd entries with the consequence."""
    others = {key: new for key, new in tried.effects.items() if key != cell.key}
    alike: dict[tuple[str, str], list[Cell]] = {}
    for key, new in others.items():
        if new.kernel is not YOURS:
            alike.setdefault((_named(cell_of(tried.before, key)), _named(new)), []).append(new)
    for (before, after), cells in alike.items():
        keys = capital(grouped_keys_text([new.key for new in cells]))
        text = f"{keys} then {'holds' if len(cells) == 1 else 'hold'} {after} (before: {before})."
        yield Statement("change: other cells hold", text, tried.holds(*cells))
        if tried.how != WITHOUT:
            yield from _consequence(tried, cell_of(tried.before, cells[0].key), cells)
    if mine := [new for new in others.values() if new.kernel is YOURS]:
        text = f"So {'does' if len(mine) == 1 else 'do'} {counted(len(mine), 'other entry', 'other entries')}."
        yield Statement("change: other cells hold yours", text, tried.holds(*mine))


def _named(cell: Cell) -> str:
    return "nothing" if cell.kernel is None else f"{cell.kernel.name} [{cell.reason}]"


def _consequence(tried: Tried, old: Cell, cells: list[Cell]) -> Iterator[Statement]:
    """The consequence of new kernels in entries for a call that lands there."""
    new = cells[0]
    claims = tried.holds(*cells)
    if new.reason == MISSING:
        yield Statement("change: calls fail", f"Calls that land there then fail: {_failure(cells)}.", claims)
        return
    if not is_autograd(new.key.name):
        return
    if old.reason == MATH and new.reason != AMBIGUOUS and tried.how == IMPL and is_backend(tried.under.name):
        yield Statement(
            "change: composite disabled",
            "This is by design. At an autograd key, the composite would decompose the call before it reaches the "
            "backend, and your kernel would never run. A backend's own kernel therefore disables the composite there.",
            claims,
        )
    if new.reason == AUTOGRAD and new.kernel is not None:
        yield Statement(
            "change: Node instead of composite",
            f"{new.kernel.name} creates the operator's Node and redispatches to the kernel below. Backward then "
            "evaluates PyTorch's formula of this operator, so the backend also needs the operators that the formula "
            "calls.",
            claims,
        )
    elif new.reason == FALLBACK and old.reason == MATH:
        yield _fallback_left(new, claims)
    elif new.reason == FALLBACK and old.reason != FALLBACK:
        yield Statement(
            "change: autograd fallback",
            "The fallback redispatches and records no derivative. The result is computed, but the operator's own "
            "gradient ends there.",
            claims,
        )
    elif new.reason == AMBIGUOUS:
        yield Statement(
            "change: ambiguous",
            "Calls then fail, because PyTorch cannot choose between the composite and the backend's kernel.",
            claims,
        )
    elif new.reason == MATH:
        yield Statement(
            "change: composite decomposes",
            "The composite decomposes the call there, and the derivative comes from the operators that it calls.",
            claims,
        )


def _fallback_left(new: Cell, claims: tuple[CellAfter, ...]) -> Statement:
    return Statement(
        "change: autograd fallback left",
        "Nothing is registered for Autograd, because the operator's composite needed no derivative of its own. "
        f"{new.key} is left with its fallback: the call works, but the gradient ends there unless your kernel calls "
        f"differentiable operators itself. Register a kernel for {new.key} as well, or leave the composite alone and "
        f"register the operators that it calls{_parts(new)}. (In releases whose autograd key had no fallback, the "
        f"call failed: Could not run ... with arguments from the '{new.key}' backend.)",
        claims,
    )


PARTS = {"aten::to": "aten::_to_copy", "aten::reshape": "aten::view, aten::clone and aten::_unsafe_view"}
"""The operators that some composites call on any backend."""


def _parts(cell: Cell) -> str:
    parts = PARTS.get(cell.operator.name.partition(".")[0])
    return f" ({parts})" if parts else ""


def _failure(cells: list[Cell]) -> str:
    """The beginning of the error text of an empty entry."""
    if [cell.key for cell in cells] == [K.Undefined]:
        return "There were no tensor arguments to this function"
    key = str(cells[0].key) if len(cells) == 1 else "..."
    return f"Could not run '{cells[0].operator.name}' with arguments from the '{key}' backend"


# -- calls ------------------------------------------------------------------------------------------------------------


def _reached(tried: Tried) -> Iterator[Statement]:
    """Yield a sentence if a call with an ordinary tensor of a backend does not reach a kernel registered for it."""
    if not is_backend(tried.under.name):
        return
    found = call_path(tried.after, tried.under)
    if any(cell.kernel is YOURS for cell in found.cells):
        return
    last = found.cells[-1]
    yield Statement(
        "change: kernel is not reached",
        f"A call with an ordinary {tried.under} tensor never reaches it, because the call ends at {last.key}, which "
        f"holds {_named(last)} whether {tried.under} has a kernel or not. The new kernel runs only below autograd, as "
        "in inference mode.",
        tried.visits(found),
    )


def _path_without(tried: Tried, cell: Cell) -> Iterator[Statement]:
    """The path of an ordinary call of the entry's backend when the kernel is gone."""
    backend = backend_of(cell.key)
    if backend is None or cell not in call_path(tried.before, backend).cells:
        return
    found = call_path(tried.after, backend)
    last = found.cells[-1]
    names = [kernel_of(visited) for visited in found.cells if visited.kernel is not None]
    if last.kernel is None:
        after = f", after {listed(names)}" if names else ""
        text = f"A call with an ordinary {backend} tensor then fails{after}: {_failure([last])}."
        yield Statement("change: call fails without it", text, tried.visits(found))
    elif names:
        text = f"A call with an ordinary {backend} tensor then runs {', then '.join(names)}."
        yield Statement("change: call without it", text, tried.visits(found))


def _stale(tried: Tried) -> Iterator[Statement]:
    stale = stale_keys(tried.after)
    if stale:
        yield Statement(
            "change: stale cells",
            f"PyTorch does not recompute the entries of {grouped_keys_text(stale)}. They are out of date until "
            "another change recomputes them, and PyTorch's own invariant check fails.",
            (StaleAfter(tried.before.name, tried.how, str(tried.under), tuple(map(str, stale))),),
        )


# -- fallthroughs -----------------------------------------------------------------------------------------------------


def _masked(tried: Tried) -> Iterator[Statement]:
    """The other effects of a fallthrough: it counts as a kernel when PyTorch decides about a composite."""
    key = tried.under
    claims = tried.holds(*tried.effects.values())
    others = {other: new for other, new in tried.effects.items() if other != key}
    if not others:
        text = "It would only remove the key from the operator's mask."
        yield Statement("fallthrough: only the mask", text, claims)
        return
    text = f"It would remove the key from the operator's mask, and it still counts as a kernel for {key}."
    yield Statement("fallthrough: counts as kernel", text, claims)
    yield from _elsewhere(tried, cell_of(tried.before, key))


def _next(tried: Tried) -> Iterator[Statement]:
    key, backend = tried.under, backend_of(tried.under)
    if backend is None:
        return
    found = call_path(tried.after, backend)
    first, last = found.cells[0], found.cells[-1]
    if is_backend(key.name):
        text = f"A call with an ordinary {backend} tensor would end at {last.key}: {_named(last)}."
        yield Statement("fallthrough: call ends", text, tried.visits(found))
    else:
        text = f"A call with an ordinary {backend} tensor would begin at {first.key}: {_named(first)}."
        yield Statement("fallthrough: call begins", text, tried.visits(found))


def _loop(tried: Tried) -> Iterator[Statement]:
    if tried.under == K.PythonDispatcher:
        yield Statement(
            "fallthrough: PythonDispatcher loops",
            "Only this key loops: every FULL_AFTER set keeps PythonDispatcher, so a kernel that masks its set and "
            "redispatches lands here again, at every level.",
        )
        return
    yield Statement(
        "fallthrough: redispatch",
        "redispatch does not apply the operator's mask. If a kernel redispatches with a set that still has the key, a "
        "fallthrough there is an internal error. A kernel that redispatches with its own set unchanged recurses "
        "forever.",
    )

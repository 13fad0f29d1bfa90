"""The text of ``keys``: the order of all keys, one key, or a raw key set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dispatchviz.explain.keys.key_order import KeyOrder, key_order
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.views.text.console import Console

if TYPE_CHECKING:
    from dispatchviz.explain.keys.key_cards import KeyCard
    from dispatchviz.explain.keys.raw_key_sets import RawSetCard, Reading


def order_lines(console: Console, past: KeyOrder | None = None) -> Iterator[str]:
    """Yield all keys in order. ``past`` has those of an older release."""
    order = past or key_order()
    yield console.heading("Functionalities, highest priority first")
    yield from console.wrapped(
        "A call runs the kernel for the highest key in its key set. value: PyTorch's number of the key; bit: its bit "
        "in a raw key set; entries: its places in every operator's dispatch table."
    )
    yield ""
    rows = order.functionalities
    name = max(len(row.name) for row in rows)
    yield console.styled(f"  value  bit  entries  {'key':<{name}}  what its kernels do", "dim")
    for row in rows:
        first = f"  {row.value:>5}  {row.bit:>3}  {row.cells:<7}  {row.name:<{name}}"
        meaning = console.wrapped(row.meaning, len(first) + 2)
        yield f"{first}  {meaning[0].lstrip()}"
        yield from meaning[1:]
    yield ""
    yield console.heading("Backends, lowest priority first (bits of the set; table entries in this order)")
    yield from console.wrapped(", ".join(f"{bit} {name}" for bit, name in order.backends), 2, 2)
    yield ""
    yield console.heading("Aliases (names to register under; no bits)")
    yield from console.columns((f"{name} ({many})", meaning) for name, many, meaning in order.aliases)
    yield ""
    yield "dispatchviz keys NAME describes a key. dispatchviz keys INTEGER lists the keys of a raw key set."


def key_lines(card: KeyCard, console: Console, operators: bool, release: str | None = None) -> Iterator[str]:
    """Yield the card of one key. If ``operators`` is true, list everything registered for it. ``release`` is the older
    release that it is about.
    """
    of_release = f"PyTorch {release}, " if release is not None else ""
    yield console.heading(card.name) + f"  ({of_release}{card.kind}, value {card.value})"
    yield from console.columns(_facts(card))
    for sentence in card.sentences:
        yield from console.wrapped(sentence)
    if operators and card.registered:
        yield ""
        yield from console.wrapped(", ".join(card.registered), 2)


def _facts(card: KeyCard) -> Iterator[tuple[str, str]]:
    if card.kind == "alias":
        yield "represents", f"{card.raw:#x}"
    else:
        yield "raw", f"{card.raw:#x} ({card.raw})"
    if card.cells:
        yield "entries" if len(card.cells) > 1 else "entry", _spans(card.cells)
    if card.kind != "alias":
        yield "aliases", ", ".join(card.aliases) or "no alias includes it"
    if card.fallback:
        yield "fallback", card.fallback


def _spans(cells: tuple[int, ...]) -> str:
    """``1-35, 95-112``"""
    spans: list[list[int]] = []
    for cell in cells:
        if spans and cell == spans[-1][1] + 1:
            spans[-1][1] = cell
        else:
            spans.append([cell, cell])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def raw_lines(card: RawSetCard, console: Console, release: str | None = None) -> Iterator[str]:
    """Yield the keys of a raw key set. ``release`` is the older release that reads it."""
    reader = release or MINOR
    yield console.heading(card.hex) + f"  ({card.raw}), as PyTorch {reader} reads it"
    if card.known:
        yield from console.wrapped(f"This is {card.known}.")
    sign = console.styled("✗", "red") + " " if not card.sensible else ""
    keys = ", ".join(card.members) or "none"
    rows = [("keys, highest first", keys)]
    if card.cell is not None:
        rows.append(("selects", f"{card.highest}, table entry {card.cell}" + _other_cell(card)))
    backends = ", ".join(f"{bit.bit} {bit.name}" for bit in card.bits if bit.kind == "backend")
    functionalities = ", ".join(f"{bit.bit} {bit.name}" for bit in card.bits if bit.kind == "functionality")
    if single := ", ".join(f"{bit.bit} {bit.name}" for bit in card.bits if bit.kind == "key"):
        rows.append(("bits", single))
    else:
        rows += [("backend bits", backends or "none"), ("functionality bits", functionalities or "none")]
    yield from console.columns(rows)
    for note in card.notes:
        yield from console.wrapped(note)
    if not card.sensible:
        yield f"  {sign}This is probably not a key set of PyTorch {reader}."
    if release is None:
        yield from _elsewhere(card, console)


def _other_cell(card: RawSetCard) -> str:
    return "" if card.highest == card.cell_key else f" ({card.cell_key})"


def _elsewhere(card: RawSetCard, console: Console) -> Iterator[str]:
    if not card.elsewhere:
        if not card.sensible:
            yield from console.wrapped("It makes no sense in the layout of any other release since 1.5 either.")
        return
    yield ""
    yield console.heading("In the layouts of other releases")
    yield from console.columns((reading.releases, _reading(reading)) for reading in card.elsewhere)


def _reading(reading: Reading) -> str:
    bits = ", ".join(f"{bit.bit} {bit.name}" for bit in reading.bits)
    doubt = f"; unlikely: {reading.objection}" if reading.objection else ""
    return f"{', '.join(reading.members) or 'no keys'} (bits {bits}){doubt}"

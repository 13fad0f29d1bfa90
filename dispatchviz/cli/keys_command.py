"""``dispatchviz keys [NAME or INTEGER...]``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dispatchviz.explain.keys.key_cards import KeyCard
    from dispatchviz.explain.keys.raw_key_sets import RawSetCard
    from dispatchviz.views.text.console import Console

OPTIONS = (
    Option("layout", "--layout", "Read integers by the key layout of this PyTorch release, such as 1.12.", "RELEASE"),
    Option("operators", "--operators", "List every operator that registers a kernel for a key."),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("things", "[NAME or INTEGER...]", "keys", many=True),)


def run(layout: str | None, operators: bool, build: str | None, as_json: bool, things: tuple[str, ...]) -> int:
    """List the dispatch keys in order, explain one, or take a raw key set apart.

    \b
    Examples:
      dispatchviz keys                       every key, highest priority first
      dispatchviz keys AutogradCUDA          one key, functionality or alias
      dispatchviz keys 0x1000010002          a raw key set, as in a debugger or a backtrace
      dispatchviz keys CUDA+AutogradCUDA     the raw key set with these keys
      dispatchviz keys 274877939713          a raw key set of an older release
    """
    if as_json:
        looking_up.print_json(_cards(layout, build, things) if things else _all())
        return 0
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lines(console, layout, operators, build, things))
    return 0


def lines(
    console: Console, layout: str | None, operators: bool, build: str | None, things: tuple[str, ...]
) -> Iterator[str]:
    """Yield the text that the command prints."""
    from dispatchviz.views.cards.keys_text import order_lines

    if not things:
        yield from order_lines(console)
    for number, card in enumerate(_cards(layout, build, things)):
        yield from [""] * bool(number)
        yield from _lines(card, console, operators)


def _cards(layout: str | None, build: str | None, things: tuple[str, ...]) -> list[KeyCard | RawSetCard]:
    return [_card(thing, layout, build) for thing in things]


def _card(thing: str, layout: str | None, build: str | None) -> KeyCard | RawSetCard:
    from dispatchviz.cli.other_meanings import with_meaning
    from dispatchviz.explain.keys.key_inputs import read
    from dispatchviz.foundation.errors import DispatchvizError

    try:
        return read(thing, lambda: looking_up.registry_of(build), layout)
    except DispatchvizError as error:
        raise DispatchvizError(with_meaning(str(error), thing, but="a dispatch key")) from None


def _lines(card: KeyCard | RawSetCard, console: Console, operators: bool) -> Iterator[str]:
    from dispatchviz.explain.keys.raw_key_sets import RawSetCard
    from dispatchviz.views.cards.keys_text import key_lines, raw_lines

    return raw_lines(card, console) if isinstance(card, RawSetCard) else key_lines(card, console, operators)


def _all() -> dict[str, Any]:
    from dispatchviz.explain.keys.key_order import alias_rows, backend_rows, key_rows

    backends = [{"bit": bit, "name": name} for bit, name in backend_rows()]
    aliases = [{"name": name, "keys": many, "stands_for": words} for name, many, words in alias_rows()]
    return {"functionalities": key_rows(), "backends": backends, "aliases": aliases}

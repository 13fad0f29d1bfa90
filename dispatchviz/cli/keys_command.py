"""``dispatchviz keys [NAME or INTEGER...]``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option
from dispatchviz.foundation.pytorch_release import MINOR, OLDEST, RELEASE

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dispatchviz.explain.keys.key_cards import KeyCard
    from dispatchviz.explain.keys.key_order import KeyOrder
    from dispatchviz.explain.keys.raw_key_sets import RawSetCard
    from dispatchviz.views.text.console import Console

OPTIONS = (
    Option(
        "release",
        "--release",
        f"Show the keys of this release of PyTorch, {OLDEST} to {MINOR}; read integers by its layout, 1.5 to {MINOR}. "
        f"Default: {MINOR}.",
        "RELEASE",
        complete="releases",
    ),
    Option("operators", "--operators", "List every operator that registers a kernel for a key."),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("things", "[NAME or INTEGER...]", "keys", many=True),)


def run(release: str | None, operators: bool, build: str | None, as_json: bool, things: tuple[str, ...]) -> int:
    """List the dispatch keys in order, explain one, or take a raw key set apart.

    \b
    Examples:
      dispatchviz keys                       every key, highest priority first
      dispatchviz keys AutogradCUDA          one key, functionality or alias
      dispatchviz keys 0x1000010002          a raw key set, as in a debugger or a backtrace
      dispatchviz keys CUDA+AutogradCUDA     the raw key set with these keys
      dispatchviz keys 274877939713          a raw key set of an older release
      dispatchviz keys Named --release 2.9   a key as it was in PyTorch 2.9
    """
    if as_json:
        looking_up.print_json(_cards(release, build, things) if things else _all(release))
        return 0
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lines(console, release, operators, build, things))
    return 0


def lines(
    console: Console, release: str | None, operators: bool, build: str | None, things: tuple[str, ...]
) -> Iterator[str]:
    """Yield the text that the command prints."""
    from dispatchviz.views.cards.keys_text import order_lines

    if not things:
        yield from order_lines(console, _past_order(release))
    for number, card in enumerate(_cards(release, build, things)):
        yield from [""] * bool(number)
        yield from _lines(card, console, operators, _past(release))


def _cards(release: str | None, build: str | None, things: tuple[str, ...]) -> list[KeyCard | RawSetCard]:
    return [_card(thing, release, build) for thing in things]


def _card(thing: str, release: str | None, build: str | None) -> KeyCard | RawSetCard:
    from dispatchviz.cli.other_meanings import with_meaning
    from dispatchviz.explain.keys.key_inputs import read
    from dispatchviz.foundation.errors import DispatchvizError

    try:
        if past := _past(release):
            return _past_card(thing, past, build)
        return read(thing, lambda: looking_up.registry_of(build))
    except DispatchvizError as error:
        raise DispatchvizError(with_meaning(str(error), thing, but="a dispatch key")) from None


def _past(release: str | None) -> str | None:
    """Return the release that is not the model's own."""
    named = None if release is None else release.strip().removeprefix("v")
    return None if named in (MINOR, RELEASE) else named


def _past_card(thing: str, release: str, build: str | None) -> KeyCard | RawSetCard:
    from dispatchviz.core.table.pytorch_registrations import chosen_build
    from dispatchviz.explain.cells.releases.release_key_cards import release_input

    return release_input(thing, release, chosen_build(build))


def _past_order(release: str | None) -> KeyOrder | None:
    past = looking_up.past_release(release)
    if past is None:
        return None
    from dispatchviz.explain.cells.releases.release_key_cards import release_order

    return release_order(past)


def _lines(card: KeyCard | RawSetCard, console: Console, operators: bool, release: str | None) -> Iterator[str]:
    from dispatchviz.explain.keys.raw_key_sets import RawSetCard
    from dispatchviz.views.cards.keys_text import key_lines, raw_lines

    if isinstance(card, RawSetCard):
        return raw_lines(card, console, release)
    return key_lines(card, console, operators, release)


def _all(release: str | None) -> dict[str, Any]:
    from dispatchviz.explain.keys.key_order import key_order

    order = _past_order(release) or key_order()
    backends = [{"bit": bit, "name": name} for bit, name in order.backends]
    aliases = [{"name": name, "keys": many, "stands_for": words} for name, many, words in order.aliases]
    return {"functionalities": order.functionalities, "backends": backends, "aliases": aliases}

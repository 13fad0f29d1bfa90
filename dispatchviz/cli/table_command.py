"""``dispatchviz table OP [KEY...]``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, RELEASE, Argument, Option

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.core.table.registry import Registry
    from dispatchviz.explain.cells.computed_table import Grouping, TableCard
    from dispatchviz.explain.cells.operator_names import Found
    from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory
    from dispatchviz.explain.cells.releases.release import Release
    from dispatchviz.views.text.console import Console

OPTIONS = (
    Option("everything", "--all", "Show all 137 entries, each on its own."),
    Option(
        "history",
        "--history",
        "Show how the table was filled: each TORCH_LIBRARY block in order, with the entries and the mask that it "
        "changed. With KEYs, show the changes of their entries only.",
    ),
    Option("output", "-o", "Draw the table and what fills it to FILE (.svg, .png, .pdf or .dot).", "FILE"),
    Option("short", "--short", "With --history: show one line for each block."),
    RELEASE,
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"), Argument("keys", "[KEY...]", "keys", many=True))


def run(
    everything: bool,
    history: bool,
    output: str | None,
    short: bool,
    release: str | None,
    build: str | None,
    as_json: bool,
    operator: str | None,
    keys: tuple[str, ...],
) -> int:
    """Show the computed dispatch table of an operator: each entry with its key, kernel, reason and registration.

    OP is a name as you would write it: add, torch.add, aten::add.Tensor, aten.add.Tensor. Entries with the same kernel
    are folded. With KEYs, show only their entries.

    \b
    Examples:
      dispatchviz table add
      dispatchviz table aten::add.Tensor CUDA AutogradCUDA
      dispatchviz table --build cpu --all linear
      dispatchviz table add --history --short
      dispatchviz table add --history
      dispatchviz table add AutogradCPU --history
      dispatchviz table add -o table.svg
      dispatchviz table ldexp --release 2.9
    """
    _check_release(release, history, output)
    if output is not None:
        return _draw(output, operator, keys, build, everything or history or short or as_json)
    if as_json:
        looking_up.print_json(
            (_history(operator, keys, build) if history else _card(operator, keys, build, release))[0]
        )
        return 0
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lines(console, everything, history, short, release, build, operator, keys))
    return 0


def _check_release(release: str | None, history: bool, output: str | None) -> None:
    """Raise DispatchvizError if something is wanted that is known for the model's release only."""
    from dispatchviz.foundation.errors import DispatchvizError
    from dispatchviz.foundation.pytorch_release import MINOR

    if release is not None and (history or output is not None):
        option = "--history shows" if history else "-o draws"
        raise DispatchvizError(f"{option} the table of PyTorch {MINOR} only: leave out --release")


def _draw(output: str, operator: str | None, keys: tuple[str, ...], build: str | None, others: bool) -> int:
    """Write the picture of the whole table. Raise DispatchvizError if anything else is wanted, too."""
    from dispatchviz.foundation.errors import DispatchvizError

    if keys or others:
        raise DispatchvizError("-o draws the whole table: leave out the KEYs and all other options but --build")
    from dispatchviz.outputs.picture.called_table import numbered
    from dispatchviz.outputs.picture.drawn_picture import suffix_of
    from dispatchviz.outputs.picture.format import check_picture
    from dispatchviz.outputs.picture.table_picture import table_picture

    check_picture(output, suffix_of(output))
    card, order = _card(operator, (), build, None)[0], numbered(_history(operator, (), build)[0])
    table_picture(card.operator, card.rows, order).render(output)
    return 0


def lines(
    console: Console,
    everything: bool,
    history: bool,
    short: bool,
    release: str | None,
    build: str | None,
    operator: str | None,
    keys: tuple[str, ...],
) -> Iterator[str]:
    """Yield the text that the command prints. Raise DispatchvizError for ``--short`` without ``--history``."""
    _check_release(release, history, None)
    if history:
        yield from _history_text(console, everything, short, build, operator, keys)
        return
    if short:
        from dispatchviz.foundation.errors import DispatchvizError

        raise DispatchvizError("--short goes with --history: it shows one line for each block that fills the table")
    from dispatchviz.views.cards.table_text import table_lines

    card, found = _card(operator, keys, build, release)
    yield from table_lines(card, everything or bool(keys), console, _grouping(release))
    yield from looking_up.remark_lines(found, console)


def _history_text(
    console: Console, everything: bool, short: bool, build: str | None, operator: str | None, keys: tuple[str, ...]
) -> Iterator[str]:
    from dispatchviz.explain.keys.key_names import runtime_keys
    from dispatchviz.views.cards.registration_overview import overview_lines
    from dispatchviz.views.cards.registration_text import history_lines

    history, found = _history(operator, keys, build)
    if short:
        yield from overview_lines(history, console)
    else:
        yield from history_lines(history, runtime_keys(keys), everything, console)
    yield from looking_up.remark_lines(found, console)


def _grouping(release: str | None) -> Grouping:
    from dispatchviz.explain.cells.computed_table import MODEL_KEYS

    past = looking_up.past_release(release)
    if past is None:
        return MODEL_KEYS
    from dispatchviz.explain.cells.releases.release_keys import ReleaseKeys

    return ReleaseKeys(past)


def _card(
    operator: str | None, keys: tuple[str, ...], build: str | None, release: str | None
) -> tuple[TableCard, Found]:
    past = looking_up.past_release(release)
    op, _, chosen, found = _operator(operator, keys, build, past)
    if past is not None:
        from dispatchviz.explain.cells.releases import release_keys
        from dispatchviz.explain.cells.releases.release_cards import release_table

        return release_table(past, op, chosen, release_keys.runtime_keys(past, keys)), found
    from dispatchviz.explain.cells.computed_table import table_card
    from dispatchviz.explain.keys.key_names import runtime_keys

    return table_card(op, chosen, runtime_keys(keys)), found


def _history(operator: str | None, keys: tuple[str, ...], build: str | None) -> tuple[RegistrationHistory, Found]:
    from dispatchviz.explain.cells.registration.registration_history import registration_history
    from dispatchviz.explain.keys.key_names import runtime_keys

    op, registry, chosen, found = _operator(operator, keys, build)
    return registration_history(op, registry, chosen, runtime_keys(keys)), found


def _operator(
    operator: str | None, keys: tuple[str, ...], build: str | None, release: Release | None = None
) -> tuple[OperatorEntry, Registry, str, Found]:
    from dispatchviz.foundation.errors import DispatchvizError

    if operator is None:
        raise DispatchvizError("name an operator, such as: dispatchviz table add (see dispatchviz table --help)")
    looking_up.check_order("table", operator, keys)
    registry, chosen = looking_up.registry_of(build, release)
    op, found = looking_up.operator_of(registry, operator, release)
    return op, registry, chosen, found

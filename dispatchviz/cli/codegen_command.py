"""``dispatchviz codegen OP``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.explain.cells.operators.operator_names import Found
    from dispatchviz.explain.codegen.codegen_card import CodegenCard
    from dispatchviz.explain.codegen.torchgen_output import Real
    from dispatchviz.render.console import Console

OPTIONS = (
    Option("real", "--real", "Also show what PyTorch's own torchgen generates; needs an installed torch."),
    Option("plain", "--plain", "No colours."),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"),)


def run(real: bool, plain: bool, build: str | None, as_json: bool, operator: str | None) -> int:
    """What the code generators make of an operator.

    Its entries in native_functions.yaml and derivatives.yaml, what calls what, every generated function with its file
    at PyTorch and here, and what PyTorch registers besides. OP is a name as you would write it: add, torch.add,
    aten::add.Tensor, aten.add.Tensor; or that of a Node: AddBackward0.

    \b
    Examples:
      dispatchviz codegen add
      dispatchviz codegen AddBackward0
    """
    if as_json:
        card, theirs, _ = _cards(real, build, operator)
        looking_up.print_json({"ours": card, "torchgen": theirs} if theirs else card)
        return 0
    from dispatchviz.render.console import Console, terminal

    console = Console(terminal().width, colours=False) if plain else terminal()
    console.print(lines(console, real, build, operator))
    return 0


def lines(console: Console, real: bool, build: str | None, operator: str | None) -> Iterator[str]:
    """The text."""
    from dispatchviz.render.cards.codegen_text import codegen_lines

    card, theirs, found = _cards(real, build, operator)
    yield from codegen_lines(card, console, theirs)
    yield from looking_up.remark_lines(found, console)


def _cards(real: bool, build: str | None, operator: str | None) -> tuple[CodegenCard, Real | None, Found]:
    from dispatchviz.errors import DispatchvizError
    from dispatchviz.explain.codegen.codegen_card import codegen_card
    from dispatchviz.explain.codegen.generated_functions import operator_of_node

    if operator is None:
        raise DispatchvizError("name an operator, such as: dispatchviz codegen add (see dispatchviz codegen --help)")
    registry, chosen = looking_up.registry_of(build)
    op, found = looking_up.operator_of(registry, operator_of_node(operator) or operator)
    return codegen_card(op, chosen), _torchgens(op) if real else None, found


def _torchgens(op: OperatorEntry) -> Real:
    from dispatchviz.explain.codegen.generated_functions import node_of
    from dispatchviz.explain.codegen.torchgen_output import real

    return real(op, node_of(op.name.removeprefix("aten::")))

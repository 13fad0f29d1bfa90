"""``dispatchviz codegen OP``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option
from dispatchviz.foundation.errors import DispatchvizError

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.explain.cells.operator_names import Found
    from dispatchviz.explain.codegen.codegen_card import CodegenCard
    from dispatchviz.explain.codegen.structured_classes import Family
    from dispatchviz.explain.codegen.torchgen_texts import Real
    from dispatchviz.views.text.console import Console

OPTIONS = (
    Option("real", "--real", "Also show what PyTorch's own torchgen generates; needs an installed torch."),
    Option("file", "--file", "Show only the C++ that torchgen writes for the operator into this file.", "NAME"),
    Option(
        "structured",
        "--structured",
        "Show only the classes of its structured kernel, and how its three entries differ.",
    ),
    Option("output", "-o", "With --structured: draw the classes to FILE (.svg, .png, .pdf or .dot).", "FILE"),
    Option("plain", "--plain", "Print without colors."),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"),)


def run(
    real: bool,
    file: str | None,
    structured: bool,
    output: str | None,
    plain: bool,
    build: str | None,
    as_json: bool,
    operator: str | None,
) -> int:
    """Show the code that PyTorch's generators write for an operator.

    The output explains the generators and lists the operator's entries in native_functions.yaml and derivatives.yaml,
    the part of torchgen that writes each file, the calls between generated functions, every generated function with its
    file in PyTorch and here, and PyTorch's other registrations. OP is a name as you would write it (add, torch.add,
    aten::add.Tensor, aten.add.Tensor) or the name of a Node (AddBackward0). --file takes a file's name with or without
    its folders: VariableType_2.cpp, VariableType.

    \b
    Examples:
      dispatchviz codegen add
      dispatchviz codegen add --file VariableType
      dispatchviz codegen add --structured
      dispatchviz codegen add --structured -o classes.svg
      dispatchviz codegen AddBackward0
    """
    _check_together(structured, output, {"--real": real, "--build": build is not None, "--file": file is not None})
    if output is not None:
        return _draw(operator, output)
    if as_json:
        looking_up.print_json(_family(operator)[1] if structured else _json(real, file, build, operator))
        return 0
    from dispatchviz.views.text.console import Console, terminal

    console = Console(terminal().width, colors=False) if plain else terminal()
    console.print(lines(console, real, file, structured, build, operator))
    return 0


def _json(real: bool, file: str | None, build: str | None, operator: str | None) -> object:
    """Return the value that ``--json`` prints."""
    if file is not None:
        from dispatchviz.views.cards.torchgen_text import texts_in

        name, texts = _texts(real, operator)
        return {"operator": name, "files": dict(texts_in(texts, name, file))}
    card, theirs, _ = _cards(real, build, operator)
    return {"ours": card, "torchgen": theirs} if theirs else card


def structured_lines(console: Console, operator: str | None) -> Iterator[str]:
    """Yield the text of ``--structured``. Raise DispatchvizError for an operator whose kernels are not structured."""
    from dispatchviz.views.cards import structured_text

    op, family, found = _family(operator)
    yield console.heading(op.name) + f"  of the family {', '.join(family.operators.values())}"
    yield from structured_text.structured_lines(family, console)
    yield from looking_up.remark_lines(found, console)


def _check_together(structured: bool, output: str | None, others: dict[str, bool]) -> None:
    """Raise DispatchvizError for options that do not go with ``--structured``, and for ``-o`` without it."""
    if not structured:
        if output is not None:
            raise DispatchvizError(
                "-o is for --structured, which is not given: it draws the classes of a structured kernel"
            )
        return
    if any(others.values()):
        given = next(option for option in others if others[option])
        raise DispatchvizError(f"--structured cannot be combined with {given}")


def _draw(operator: str | None, output: str) -> int:
    """Write the picture of the classes."""
    from dispatchviz.outputs.picture.drawn_picture import suffix_of
    from dispatchviz.outputs.picture.format import check_picture
    from dispatchviz.outputs.picture.structured_picture import render

    check_picture(output, suffix_of(output))
    render(_family(operator)[1], output)
    return 0


def _family(operator: str | None) -> tuple[OperatorEntry, Family, Found]:
    """Return an operator with the family of its structured kernel. Raise DispatchvizError if it has none."""
    from dispatchviz.explain.codegen.structured_classes import family_of

    op, _, found = _operator("cuda", operator)
    family = family_of(op.name.removeprefix("aten::"))
    if family is None:
        others = (name.removeprefix("aten::") for name in found.others)
        one = next((name for name in others if family_of(name)), "add")
        raise DispatchvizError(
            f"{op.name} has no structured kernel that dispatchviz knows: its entry has neither "
            f"structured: nor structured_delegate: (dispatchviz codegen {one} --structured shows one that does)"
        )
    return op, family, found


def lines(
    console: Console, real: bool, file: str | None, structured: bool, build: str | None, operator: str | None
) -> Iterator[str]:
    """Yield the text that the command prints."""
    from dispatchviz.views.cards.codegen_text import codegen_lines

    if structured:
        yield from structured_lines(console, operator)
        return
    if file is not None:
        from dispatchviz.views.cards.torchgen_text import text_lines, texts_in

        name, texts = _texts(real, operator)
        yield from text_lines(name, texts, texts_in(texts, name, file), console)
        return
    card, theirs, found = _cards(real, build, operator)
    yield from codegen_lines(card, console, theirs)
    yield from looking_up.remark_lines(found, console)


def _cards(real: bool, build: str | None, operator: str | None) -> tuple[CodegenCard, Real | None, Found]:
    from dispatchviz.explain.codegen.codegen_card import codegen_card

    op, chosen, found = _operator(build, operator)
    theirs = _torchgens(op) if real else None
    return codegen_card(op, chosen, theirs), theirs, found


def _torchgens(op: OperatorEntry) -> Real:
    from dispatchviz.explain.codegen.torchgen_output import real

    return real(op)


def _texts(real: bool, operator: str | None) -> tuple[str, Real]:
    """Return an operator's full name, and the code that torchgen writes for it. Raise DispatchvizError if that code is
    not shipped.
    """
    op, _, _ = _operator("cuda", operator)
    if real:
        return op.name, _torchgens(op)
    from dispatchviz.explain.codegen.kept_texts import kept
    from dispatchviz.views.cards.torchgen_text import not_kept

    texts = kept(op.name.removeprefix("aten::"))
    if texts is None:
        raise DispatchvizError(not_kept(op.name))
    return op.name, texts


def _operator(build: str | None, operator: str | None) -> tuple[OperatorEntry, str, Found]:
    from dispatchviz.explain.codegen.generated_functions import operator_of_node

    if operator is None:
        raise DispatchvizError("name an operator, such as: dispatchviz codegen add (see dispatchviz codegen --help)")
    registry, chosen = looking_up.registry_of(build)
    op, found = looking_up.operator_of(registry, operator_of_node(operator) or operator)
    return op, chosen, found

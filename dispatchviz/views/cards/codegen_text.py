"""The text of ``codegen OP``: entries, calls, functions and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.explain.codegen.codegen_card import CodegenCard, Registered
from dispatchviz.explain.codegen.definitions import Piece
from dispatchviz.explain.codegen.generated_calls import Call
from dispatchviz.explain.codegen.generated_functions import Function
from dispatchviz.explain.codegen.kept_texts import release
from dispatchviz.explain.codegen.structured_classes import family_of
from dispatchviz.views.cards.structured_text import class_tree
from dispatchviz.views.cards.torchgen_text import about_lines, entry_lines, not_kept, way_lines
from dispatchviz.views.text.code_tokens import code
from dispatchviz.views.text.console import Console

TYPE_CHECKING = False  # typing is slow to import: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from dispatchviz.explain.codegen.torchgen_texts import Real, RealPiece

HAND_MADE = "generated in PyTorch, written by hand in dispatchviz"


SHORTENED = (
    "These entries follow the grammar of PyTorch's files, but are shorter. dispatch: names the kernels that "
    "dispatchviz has, formulas are Python, and tags:, autogen: and other fields that only PyTorch's generators read "
    "are left out."
)
"""The note above our yaml entries, which look like PyTorch's."""


def codegen_lines(card: CodegenCard, console: Console, real: Real | None = None) -> Iterator[str]:
    """Yield the header and the parts. If ``real`` is given, show torchgen's output beside ours."""
    yield console.heading(card.operator) + f"  (build {card.build})"
    yield from console.wrapped(card.schema, 2, 6)
    if not card.functions:
        yield ""
        yield from console.wrapped(unknown(card))
    yield from about_lines(card, console)
    if card.pytorch_entries:
        yield from entry_lines(card.pytorch_entries, real.version if real else release(), console)
    if card.entries:
        yield from _entries(card, console)
    if card.texts_known:
        yield from way_lines(card, console)
    if card.functions:
        yield from _calls(card.calls, console)
        yield from _functions(card.functions, real, console)
    if family := family_of(card.operator.removeprefix("aten::")):
        yield ""
        yield console.heading("Classes of its structured kernel (--structured shows their members and the three forms)")
        yield from class_tree(family, console)
    if real:
        yield from _rest(card.functions, real, console)
    yield from _registered(card, console)
    if not card.texts_known:
        yield from _files(card, console)


def unknown(card: CodegenCard) -> str:
    """The note on operators that dispatchviz does not implement."""
    more = "" if card.texts_known else " With torch installed, --real shows what PyTorch's own torchgen generates."
    return (
        f"dispatchviz does not implement {card.operator}: its native_functions.yaml has no entry for it, so no code "
        f"is generated. The list below shows what PyTorch registers for it, and where.{more}"
    )


def _entries(card: CodegenCard, console: Console) -> Iterator[str]:
    """Yield our yaml entries in full, or only their places if PyTorch's entries are shown."""
    if card.pytorch_entries:
        places = ", ".join(entry.here.location for entry in card.entries)
        yield from console.wrapped(f"dispatchviz generates from entries of its own, which are shorter: {places}")
        return
    yield ""
    yield console.heading("Entries of dispatchviz's yaml files")
    yield from console.wrapped(SHORTENED)
    for entry in card.entries:
        yield f"  {console.styled(entry.here.location, 'cyan')}  {entry.role}"
        yield from code(entry.here.text, "yaml", console)


def _calls(calls: Iterable[Call], console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("Calls")
    for call in calls:
        yield from _tree(call, console, "  ", "  ")


def _tree(call: Call, console: Console, first: str, rest: str) -> Iterator[str]:
    """Yield one line for each call. Lines are never wrapped, so that the branches stay whole."""
    yield first + call.what + (f"  {console.styled(call.where, 'dim')}" if call.where else "")
    for within in call.within:
        last = within is call.within[-1]
        yield from _tree(within, console, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "))


def _functions(functions: Iterable[Function], real: Real | None, console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("Generated code in the order of a call: PyTorch's file, then ours")
    shown: set[str] = set()
    texts: dict[Piece, str] = {}
    for function in functions:
        yield ""
        yield from _function(function, console, texts.setdefault(function.here, function.name))
        if real and function.pytorch not in shown:
            yield from _pieces(real.of(function.pytorch), console)
        shown.add(function.pytorch)


def _rest(functions: Iterable[Function], real: Real, console: Console) -> Iterator[str]:
    """Yield torchgen's output that has no counterpart here."""
    shown = {piece.file for function in functions for piece in real.of(function.pytorch)}
    files = dict.fromkeys(piece.file for piece in real.pieces if piece.file not in shown)
    if files:
        yield ""
        besides = " besides" if functions else ""
        yield console.heading(f"What torchgen generates{besides}")
    for file in files:
        yield ""
        yield f"  {console.styled(file, 'cyan')}"
        yield from _pieces(real.of(file), console)


def _pieces(pieces: Iterable[RealPiece], console: Console) -> Iterator[str]:
    for piece in pieces:
        yield f"  {console.styled('PyTorch, by torchgen', 'dim')}"
        yield from code(piece.text, "cpp", console)


def _function(function: Function, console: Console, first: str) -> Iterator[str]:
    """Yield the lines of one function. ``first`` is the name of the first function with the same text."""
    under = f"  (under {function.key})" if function.key else ""
    yield f"  {console.styled(function.name, 'bold')}{under}"
    yield f"  {console.styled(function.pytorch, 'cyan')}"
    yield f"  {function.here.location}" + (f"  ({HAND_MADE})" if function.by_hand else "")
    if function.name == first:
        yield from code(function.here.text, "python", console)
    else:
        yield f"    the same function as {first} above"


def _registered(card: CodegenCard, console: Console) -> Iterator[str]:
    if not card.registered:
        return
    yield ""
    besides = " besides" if card.functions else ""
    yield console.heading(f"PyTorch registers{besides} (● dispatchviz runs it, ○ only PyTorch has it)")
    yield from console.columns(_rows(card.registered))


def _rows(registered: Iterable[Registered]) -> Iterator[tuple[str, str]]:
    """Yield one row for each kernel, with all keys that share it."""
    rows: dict[tuple[bool, str, str], list[str]] = {}
    for each in registered:
        rows.setdefault((each.runs, each.name, each.place), []).append(each.key)
    for (runs, name, place), keys in rows.items():
        yield f"{'●' if runs else '○'} {', '.join(keys)}", f"{name}  {place}"


def _files(card: CodegenCard, console: Console) -> Iterator[str]:
    """Yield the files for an operator whose generated texts are not stored."""
    yield ""
    yield console.heading("PyTorch's generators write into these files, too" if card.functions else "Files at PyTorch")
    yield from console.wrapped(not_kept(card.operator))
    yield from console.columns(((each.file, each.what) for each in card.files), widest=62)

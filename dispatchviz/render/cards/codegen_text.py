"""``codegen OP`` as text: entries, calls, functions, files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.explain.codegen.codegen_card import CodegenCard, Registered
from dispatchviz.explain.codegen.definitions import Piece
from dispatchviz.explain.codegen.generated_calls import Call
from dispatchviz.explain.codegen.generated_functions import Function
from dispatchviz.render.console import Console

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from dispatchviz.explain.codegen.torchgen_output import Real, RealPiece

CODE_STYLES = {
    "code.comment": ("dim",),
    "code.string": ("green",),
    "code.number": ("yellow",),
    "code.keyword": ("cyan", "bold"),
    "code.name": ("bold",),
}
"""Role of a span of code to its styles."""

HAND_MADE = "generated at PyTorch, written by hand here"


SHORTENED = (
    "In the grammar of PyTorch's own files, and shortened: dispatch: names the kernels that dispatchviz has, formulas "
    "are Python, and tags:, autogen: and what else only PyTorch's generators read is left out. --real shows PyTorch's "
    "own entries (with torch installed)."
)
"""The note above our entries, which look like PyTorch's."""


def codegen_lines(card: CodegenCard, console: Console, real: Real | None = None) -> Iterator[str]:
    """Header and parts; with what torchgen generates, that beside ours."""
    yield console.heading(card.operator) + f"  (build {card.build})"
    yield from console.wrapped(card.schema, 2, 6)
    if not card.functions:
        yield ""
        yield from console.wrapped(unknown(card))
    if card.entries or real:
        yield from _entries(card, real, console)
    if card.functions:
        yield from _calls(card.calls, console)
        yield from _functions(card.functions, real, console)
    if real:
        yield from _rest(card.functions, real, console)
    yield from _registered(card, console)
    yield from _files(card, console)


def unknown(card: CodegenCard) -> str:
    """The note on operators that dispatchviz does not implement."""
    return (
        f"dispatchviz does not implement {card.operator}: it has no entry in our native_functions.yaml, so nothing is "
        "generated here. What PyTorch registers for it is known, and where. With torch installed, --real shows what "
        "PyTorch's own torchgen generates."
    )


def _entries(card: CodegenCard, real: Real | None, console: Console) -> Iterator[str]:
    yield ""
    if card.entries:
        yield console.heading("Entries of dispatchviz's yaml files")
        yield from console.wrapped(SHORTENED)
    else:
        yield console.heading("Entries of the yaml files")
    for entry in card.entries:
        yield f"  {console.styled(entry.here.location, 'cyan')}  {entry.role}"
        yield from code(entry.here.text, "yaml", console)
    if real:
        for piece in real.entries:
            yield f"  {console.styled(piece.file, 'cyan')}  PyTorch's own ({real.version})"
            yield from code(piece.text, "yaml", console)


def _calls(calls: Iterable[Call], console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("What calls what")
    for call in calls:
        yield from _tree(call, console, "  ", "  ")


def _tree(call: Call, console: Console, first: str, rest: str) -> Iterator[str]:
    """A line for a call, which is never wrapped: its branches stay whole."""
    yield first + call.what + (f"  {console.styled(call.where, 'dim')}" if call.where else "")
    for within in call.within:
        last = within is call.within[-1]
        yield from _tree(within, console, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "))


def _functions(functions: Iterable[Function], real: Real | None, console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("Generated, in the order of a call: the file at PyTorch, then ours")
    shown: set[str] = set()
    texts: dict[Piece, str] = {}
    for function in functions:
        yield ""
        yield from _function(function, console, texts.setdefault(function.here, function.name))
        if real and function.pytorch not in shown:
            yield from _pieces(real.of(function.pytorch), console)
        shown.add(function.pytorch)


def _rest(functions: Iterable[Function], real: Real, console: Console) -> Iterator[str]:
    """What torchgen writes that has no counterpart here."""
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
    """``first``: the name of the function whose text it shares, its own if it is the first with that text."""
    under = f"  (under {function.key})" if function.key else ""
    yield f"  {console.styled(function.name, 'bold')}{under}"
    yield f"  {console.styled(function.pytorch, 'cyan')}"
    yield f"  {function.here.location}" + (f"  ({HAND_MADE})" if function.by_hand else "")
    if function.name == first:
        yield from code(function.here.text, "python", console)
    else:
        yield f"    the same function as {first}, above"


def code(text: str, language: str, console: Console, indent: int = 4) -> Iterator[str]:
    """Lines of code, in colours where there are some; they are never wrapped."""
    lines = text.splitlines()
    if not console.colours:
        yield from (f"{'':{indent}}{line}".rstrip() for line in lines)
        return
    from dispatchviz.render.code_tokens import highlighted

    for spans in highlighted(tuple(lines), language):
        yield f"{'':{indent}}" + "".join(console.styled(part, *CODE_STYLES.get(role, ())) for part, role in spans)


def _registered(card: CodegenCard, console: Console) -> Iterator[str]:
    if not card.registered:
        return
    yield ""
    besides = " besides" if card.functions else ""
    yield console.heading(f"PyTorch registers{besides} (● dispatchviz runs it, ○ only PyTorch has it)")
    yield from console.columns(_rows(card.registered))


def _rows(registered: Iterable[Registered]) -> Iterator[tuple[str, str]]:
    """Keys with the same kernel in one row."""
    rows: dict[tuple[bool, str, str], list[str]] = {}
    for each in registered:
        rows.setdefault((each.runs, each.name, each.place), []).append(each.key)
    for (runs, name, place), keys in rows.items():
        yield f"{'●' if runs else '○'} {', '.join(keys)}", f"{name}  {place}"


def _files(card: CodegenCard, console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("PyTorch's generators write into these files, too" if card.functions else "Files at PyTorch")
    yield from console.columns(card.files, widest=62)

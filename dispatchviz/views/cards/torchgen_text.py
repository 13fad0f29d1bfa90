"""The input and output of PyTorch's code generators for an operator, as text: purpose, parts, files and C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from dispatchviz.explain.codegen.codegen_card import CodegenCard, GeneratedFile
from dispatchviz.explain.codegen.kept_texts import everything, kept_operators, release
from dispatchviz.explain.codegen.torchgen_parts import (
    BOTH,
    FUNCTION,
    GROUP,
    GROUPING,
    INFO,
    LOAD,
    MATCH,
    PARSE,
    TOOLS,
    Part,
    in_order,
)
from dispatchviz.explain.codegen.torchgen_texts import DERIVATIVES, Real, RealEntry, named
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.views.text.code_tokens import code
from dispatchviz.views.text.console import Console

FOR = (
    "An operator is described once: by an entry in native_functions.yaml and, if it has a derivative of its own, by "
    "an entry in derivatives.yaml. From these entries, PyTorch's build generates the code that looks alike for all "
    "operators: the Python and C++ functions, the calls into the dispatcher, a wrapper and a registration for each "
    "key, autograd kernels and Nodes. People write the functions that the entries name: the kernels, the meta and "
    "impl functions, and the functions that formulas call."
)
"""The purpose of code generation."""


def about_lines(card: CodegenCard, console: Console) -> Iterator[str]:
    """Yield the purpose of code generation and the amount of generated code."""
    count = everything()
    much = (
        f"PyTorch {release()} has {count.functions:,} entries for functions and {count.derivatives} for derivatives. "
        f"From these, torchgen and {TOOLS} write {count.lines:,} lines of C++ into {count.files:,} files"
    )
    own = f"; {card.lines:,} lines, in {len(card.files)} files, are for {card.operator} or its other forms"
    yield ""
    yield console.heading("What code generation is for")
    yield from console.wrapped(f"{FOR} {much}{own if card.texts_known else ''}.")


def entry_lines(entries: Iterable[RealEntry], version: str, console: Console) -> Iterator[str]:
    """Yield PyTorch's own entries in full."""
    yield ""
    yield console.heading(f"PyTorch's entries ({version})")
    for entry in entries:
        yield f"  {console.styled(entry.location, 'cyan')}  {entry.role}"
        yield from code(entry.text, "yaml", console)


def way_lines(card: CodegenCard, console: Console) -> Iterator[str]:
    """Yield the path from entries to files: the objects that torchgen creates, then the part that writes each file."""
    yield ""
    yield console.heading("From the entries to the files")
    together = f"{_named(GROUPING)} puts it into a {_named(GROUP)}: {', '.join(card.group)}"
    alone = f"{_named(GROUPING)} leaves it alone: a {GROUP.name} needs a functional and an out form"
    yield from _steps("native_functions.yaml", [f"{_named(PARSE)} makes a {_named(FUNCTION)} of the entry"], console)
    yield from _steps("", [together if card.group else alone], console)
    if any(entry.file == DERIVATIVES for entry in card.pytorch_entries):
        made = f"{_named(LOAD)} makes a {_named(INFO)} of the entry"
        yield from _steps("derivatives.yaml", [made], console)
        yield from _steps("", [f"{_named(MATCH)} puts both into a {_named(BOTH)}"], console)
    yield ""
    short = card.operator.removeprefix("aten::")
    yield from console.wrapped(
        f"The files are in about the order of a call, with the number of their lines for {card.operator}. "
        f"dispatchviz codegen {short} --file NAME shows these lines."
    )
    yield from file_lines(card.files, console)


def _named(part: Part) -> str:
    return f"{part.name} ({part.file})"


def _steps(source: str, steps: Iterable[str], console: Console) -> Iterator[str]:
    if source:
        yield f"  {console.styled(source, 'bold')}"
    for step in steps:
        yield from console.wrapped(f"→ {step}", 4, 6)


def file_lines(files: Iterable[GeneratedFile], console: Console) -> Iterator[str]:
    """Yield the files, grouped by the part of the generator that writes them."""
    for (what, part), group in groupby(files, lambda each: (each.what, each.part)):
        written = list(group)
        yield ""
        yield from (console.styled(line, "bold") for line in console.wrapped(what))
        templates = ", ".join(dict.fromkeys(each.template for each in written))
        yield from (console.styled(line, "dim") for line in console.wrapped(f"by {part}, into {templates}", 4, 4))
        for each in written:
            yield f"  {each.lines:6}  {console.styled(each.file, 'cyan')}"


def not_kept(operator: str) -> str:
    """The note on operators whose generated texts are not stored, with a way to get them."""
    name = operator.removeprefix("aten::")
    return (
        f"torchgen's output is stored for {len(kept_operators())} operators, including those of the examples, but not "
        f"for {operator}. With torch installed, dispatchviz codegen {name} --real shows it."
    )


def texts_in(real: Real, operator: str, name: str) -> list[tuple[str, str]]:
    """Return the files that match a name, each with its text. Raise DispatchvizError with the existing names if none
    matches.
    """
    files = [file for _, of in in_order(real.files()) for file in of]
    found = named(files, name)
    if not found:
        import difflib

        there = [file.rpartition("/")[2] for file in files]
        close = difflib.get_close_matches(name, there, 1) or [file for file in there if name in file]
        meant = f", did you mean {close[0]}?" if close else "."
        raise DispatchvizError(
            f"torchgen writes nothing for {operator} into {name!r}{meant} It writes into: {', '.join(there)}"
        )
    return [(file, real.text(file)) for file in found]


def text_lines(operator: str, real: Real, texts: Iterable[tuple[str, str]], console: Console) -> Iterator[str]:
    """Yield the C++ text of files: ``--file``."""
    for number, (file, text) in enumerate(texts):
        if number:
            yield ""
        yield f"{console.styled(file, 'cyan')}: what torchgen ({real.version}) writes for {operator}"
        yield ""
        yield from code(text, "cpp", console, 0)

"""The page itself: Markdown, module by module."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.sentences.examples import UNSEEN, Example, examples, named_in
from scripts.sentences.kinds import Kind, kinds
from scripts.sentences.unchecked import reason

INTRODUCTION = """\
# Sentences

Everything that dispatchviz says about a step, one entry for each kind of sentence: an example, the program and line
that it is from, the rule beside it with PyTorch's function and file, and what it states that the tests check against
PyTorch (`tests/claims`), or why they do not. Written by `python -m scripts.sentences`; programs without a folder are in
`truth/programs`.
"""


def page(old: str = "") -> str:
    """The page, with the examples of the old page where their sentences are unchanged, else from any source."""
    known = kinds()
    wanted = frozenset(kind.name for kind in known) - UNSEEN.keys()
    found = examples(wanted, among=named_in(old))
    missing = wanted - found.keys()
    return written(known, examples(missing) | found if missing else found)


def written(known: list[Kind], found: dict[str, Example]) -> str:
    """The page with these examples."""
    return "\n".join([INTRODUCTION, *_entries(known, found)]) + "\n"


def _entries(known: list[Kind], found: dict[str, Example]) -> Iterator[str]:
    module = ""
    for kind in known:
        if kind.module != module:
            module = kind.module
            yield f"\n## explain/{module}\n"
        yield from _entry(kind, found.get(kind.name))


def _entry(kind: Kind, example: Example | None) -> Iterator[str]:
    yield f"\n### {kind.name}\n"
    if example is None:
        yield f"Not in these programs. It describes {UNSEEN.get(kind.name, '... (add a program to programs.txt)')}."
        return
    yield f"> {example.statement.text}\n"
    yield f"- from: `{example.source}`{f', line {example.line}' if example.line else ''}"
    if example.rule:
        place = f" (`{example.function}`{f', {example.file}' if example.file else ''})" if example.function else ""
        yield f"- rule: {example.rule}{place}"
    yield f"- checked against PyTorch: {_checked(example)}"


def _checked(example: Example) -> str:
    names = dict.fromkeys(type(claim).__name__ for claim in example.statement.claims)
    return ", ".join(names) or f"no; it {reason(example.statement.kind)}"

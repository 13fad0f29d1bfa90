"""Other meanings of a word that a command did not expect, for the end of its error."""

from __future__ import annotations

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator


def with_meaning(error: str, word: str, but: str = "") -> str:
    """Return an error, extended by another meaning of its word and the command for that meaning, if it has one."""
    found = next((each for each in _meanings(word) if each[0] != but), None)
    if found is None:
        return error
    return f"{error}{'' if error.endswith('?') else ';'} {word} is {found[0]}: dispatchviz {found[1]} {word}"


def _meanings(word: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of thing that the word names, and its command."""
    import os

    from dispatchviz.core.table.pytorch_registrations import pytorch_operators
    from dispatchviz.explain.cells.operator_names import means_one
    from dispatchviz.explain.keys.key_names import known_key
    from dispatchviz.foundation.shipped_examples import LESSONS, MISCONCEPTIONS, examples, names_example
    from dispatchviz.outputs.formats import suffix_of
    from dispatchviz.outputs.trace_files import TRACES

    if os.path.isfile(word):
        if word.endswith(".py"):
            yield "a program", "run"
        elif suffix_of(word) in TRACES:
            yield "a saved trace", "open"
    elif names_example(word):
        yield "an example program", "run"
    if known_key(word) is not None:
        yield "a dispatch key", "keys"
    if {f"{LESSONS}/{word}", f"{MISCONCEPTIONS}/{word}"} & {example.name for example in examples()}:
        yield "a lesson", "lesson"
    if word.strip() and means_one(word, pytorch_operators()):
        yield "an operator", "table"

"""The changes of a release of PyTorch in what we have, a module for each subject.

Each module has a function ``left()``, which yields what is left to do, in the order in which to do it. It runs in a
process of its own (``truth/follow.py``), because an import for one subject must not affect another.
"""

from __future__ import annotations

from typing import NamedTuple

SUBJECTS = {
    "keys": "Dispatch keys",
    "registrations": "Registrations: operators, schemas, kernels, table cells",
    "yaml_entries": "Entries and formulas in yaml that we have",
    "stored_answers": "Error texts and records that differ",
    "sentences": "Sentences and facts whose checks fail",
    "python_sources": "Python sources that we mirror",
    "texts": "Texts that name the release",
}
"""The subjects by module, in the order in which to follow them."""


class Left(NamedTuple):
    """A thing to do."""

    what: str
    """The kind of the change."""
    names: list[str]
    """The things that it changed."""
    then: str
    """The command that writes our side, or the files of ours to change."""


def some(what: str, names: list[str], then: str) -> list[Left]:
    """The thing to do, or nothing if there are no names."""
    return [Left(what, names, then)] if names else []

"""Facts about table entries that later recordings of a process use again, as long as nothing was registered meanwhile.

A suite of tests records many times, and reading the registrations takes most of the time before a test begins. A fact
holds while PyTorch's dump of the operator is the same, and only operators whose kernels are all PyTorch's own have
facts: a program may register a function anew at the same place. The first recording of a process only keeps the dumps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from dispatchviz.live.registration import registrations_in

T = TypeVar("T")


class SharedFacts:
    """The facts of the operators of a process."""

    def __init__(self) -> None:
        self._dumps: dict[str, str] = {}
        self._fallbacks: object = None
        self._facts: dict[str, dict[Hashable, Any] | None] = {}
        """Facts by operator; None for an operator of which none are kept."""

    def begin(self, dumps: Mapping[str, str], fallbacks: object) -> None:
        """Begin a recording. Facts that may no longer hold are forgotten."""
        before = self._dumps if fallbacks == self._fallbacks else {}
        known, self._facts = self._facts, {}
        for name, dump in dumps.items():
            if before.get(name) == dump:
                self._facts[name] = known[name] if name in known else {} if _is_pytorchs(dump) else None
        self._dumps, self._fallbacks = dict(dumps), fallbacks

    def forget(self, operator: str) -> None:
        """Forget an operator whose registrations change."""
        self._facts.pop(operator, None)
        self._dumps.pop(operator, None)

    def has(self, operator: str) -> bool:
        """Return whether an operator may have facts, because all its kernels are PyTorch's own."""
        return self._facts.get(operator) is not None

    def get(self, operator: str, fact: Hashable, read: Callable[[], T]) -> T:
        """Return a fact, which is read if it is not known."""
        facts = self._facts.get(operator)
        if facts is None:
            return read()
        if fact not in facts:
            facts[fact] = read()
        found: T = facts[fact]
        return found


def _is_pytorchs(dump: str) -> bool:
    """Return whether all kernels of an operator are from C++, or from the file with PyTorch's own meta functions."""
    return all(not row.is_python or META.search(row.place) for row in registrations_in(dump))


META = re.compile(r"[/\\]torch[/\\]_meta_registrations\.py:\d+$")

SHARED = SharedFacts()

"""A diagnosis as a value: the cause in the program's own names, PyTorch's message, the fixes, and the steps that prove
it.

Every screen, page and report shows the same three parts: why, PyTorch says, try.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from dispatchviz.explain.sentences.statement import Statement, text_of

Rank = Literal["error", "silent mistake", "warning", "gradient that never arrives"]
"""The kind of problem. Diagnoses are shown in the order of ``RANKS``."""

RANKS: tuple[Rank, ...] = ("error", "silent mistake", "warning", "gradient that never arrives")


UNKNOWN = "error of no known kind"
OF_PYTHON = "error of Python"
"""The kinds of diagnoses that repeat the traceback, unless they have a fix."""


LONGEST = 450
"""The number of characters of a message that are quoted."""

TRIGGERED = re.compile(r" \(Triggered internally at \S+\)$")
"""The place in a build with which some warnings end."""


class Diagnosis(NamedTuple):
    """A problem of a program."""

    rank: Rank
    at: int
    """The step that the text is about. The stepper opens there."""
    cause: tuple[Statement, ...]
    """The cause as sentences with claims. It names the program's own variables, lines, Nodes, modules and versions."""
    says: str
    """PyTorch's complete message; empty if there is none."""
    fixes: tuple[str, ...]
    """The fixes, best first: one sentence each, with the program's names and lines."""
    proof: tuple[int, ...] = ()
    """The steps that prove the cause, in order."""
    unseen: str = ""
    """The limits of the recording that limit the cause; empty otherwise."""

    @property
    def kind(self) -> str:
        """The kind of its first sentence, which names the diagnosis: ``no grad_fn: no leaf requires grad``."""
        return self.cause[0].kind

    @property
    def why(self) -> str:
        """The cause as one text."""
        return text_of(self.cause)

    @property
    def quoted(self) -> str:
        """The message as it is shown: on one line, without the table that may follow it; empty if there is none."""
        text = TRIGGERED.sub("", " ".join(self.says.partition("\n\n")[0].split()))
        return f'"{text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + " ..."}"' if text else ""

    @property
    def adds_information(self) -> bool:
        """True if it contains more than the traceback."""
        return self.kind not in (UNKNOWN, OF_PYTHON) or bool(self.fixes)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The parts as statements: why, PyTorch says, try."""
        why, *more = self.cause
        says = Statement("error: message", self.quoted, part="PyTorch says")
        fixes = (Statement("error: try", fix, part="try") for fix in self.fixes)
        return why._replace(part="why"), *more, says, *fixes

"""A diagnosis as a value: the cause in the program's own terms, what PyTorch says, what to try, which steps prove it.

Every screen, page and report shows the same three parts: why, PyTorch says, try.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from dispatchviz.explain.sentences.statement import Statement, text_of

Rank = Literal["error", "silent mistake", "warning", "gradient that never arrives"]
"""What kind of problem it is; the order of ``RANKS`` is the order in which they are told."""

RANKS: tuple[Rank, ...] = ("error", "silent mistake", "warning", "gradient that never arrives")


UNKNOWN = "error of no known kind"
OF_PYTHON = "error of Python"
"""Kinds of diagnoses that repeat what the traceback says, unless they have something to try."""


LONGEST = 450
"""How many characters of a message are quoted."""

TRIGGERED = re.compile(r" \(Triggered internally at \S+\)$")
"""The place in a build that some warnings end with."""


class Diagnosis(NamedTuple):
    """One problem of one program."""

    rank: Rank
    at: int
    """The step that the text is about: the stepper opens there."""
    cause: tuple[Statement, ...]
    """The cause as sentences with claims: variables, lines, Nodes, modules, versions of the program itself."""
    says: str
    """PyTorch's own message, whole; empty if PyTorch says nothing."""
    fixes: tuple[str, ...]
    """What to change, the best first: one sentence each, with the program's names and lines."""
    proof: tuple[int, ...] = ()
    """The steps that prove the cause, in order."""
    unseen: str = ""
    """What the recording could not see, where that limits the cause; empty otherwise."""

    @property
    def kind(self) -> str:
        """The kind of its first sentence names the diagnosis: ``no grad_fn: no leaf requires grad``."""
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
    def tells_more(self) -> bool:
        """True if it says more than the traceback does."""
        return self.kind not in (UNKNOWN, OF_PYTHON) or bool(self.fixes)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Its parts as statements: why, what PyTorch says, what to try."""
        why, *more = self.cause
        says = Statement("error: message", self.quoted, part="PyTorch says")
        fixes = (Statement("error: try", fix, part="try") for fix in self.fixes)
        return why._replace(part="why"), *more, says, *fixes

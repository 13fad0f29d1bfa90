"""The types of an older statement with today's answer, of a reason, and of the steps that each is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from dispatchviz.core.record import events as ev

Version = Literal["forum", "2020", "later"]
"""``forum``: the question whose program is ``examples/forum.py``; ``2020``: the first dispatcher walkthrough in
PyTorch's wiki; ``later``: its later version on code generation and structured kernels, and Node's header of that time.
"""

Verdict = Literal["still true", "true with a change", "no longer true", "never came true", "never true"]
"""The verdict of PyTorch 2.14; ``never came true`` marks a plan, ``never true`` a guess."""


class Source(NamedTuple):
    """A place in PyTorch 2.14."""

    file: str
    """The path in PyTorch's tree; a generated file has the folder in which the build writes it."""
    name: str
    """A name that the file contains."""


class PastStatement(NamedTuple):
    """A statement from an older article about the dispatcher, in our own words."""

    ident: str
    subject: str
    """A few words, for lists."""
    version: Version
    statement: str
    verdict: Verdict
    today: str
    """The truth in PyTorch 2.14."""
    source: Source
    steps: tuple[Steps, ...]
    """The steps of a trace that it is about."""
    shown_by: str
    """A program with a matching step, for ``dispatchviz run``."""


class Reason(NamedTuple):
    """A reason for a design decision."""

    ident: str
    question: str
    answer: str
    """Three to six sentences."""
    look: str
    """The things to look at in the trace."""
    source: Source
    steps: tuple[Steps, ...]
    shown_by: str


class Steps(NamedTuple):
    """Events of a kind whose fields have certain values; a text is a pattern: ``VariableType::*``."""

    kind: type[ev.Event]
    fields: tuple[tuple[str, str | int], ...]


def seen(kind: type[ev.Event], **fields: str | int) -> Steps:
    """``seen(ev.Dispatched, operator="aten::randn", how="call*")``."""
    return Steps(kind, tuple(fields.items()))


def fits(steps: Steps, event: ev.Event) -> bool:
    """Return whether an event matches."""
    return isinstance(event, steps.kind) and all(_is(getattr(event, name), wanted) for name, wanted in steps.fields)


def _is(value: object, wanted: str | int) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return value == wanted

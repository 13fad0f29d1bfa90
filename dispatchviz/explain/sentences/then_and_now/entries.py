"""A statement that many have read, with today's answer; a reason; and the steps that each is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from dispatchviz.core.record import events as ev

Version = Literal["forum", "2020", "later"]
"""``forum``: the question whose program is ``examples/forum.py``; ``2020``: the first dispatcher walkthrough of
PyTorch's wiki; ``later``: its later one on code generation and structured kernels, and Node's header of that time."""

Verdict = Literal["still true", "true with a change", "no longer true", "never came true", "never true"]
"""What PyTorch 2.13 says to it; ``never came true``: it was a plan; ``never true``: it was a guess."""


class Source(NamedTuple):
    """Where PyTorch 2.13 has it."""

    file: str
    """As in PyTorch's own tree, generated files with the folder in which the build writes them."""
    name: str
    """A name that is in it."""


class PastStatement(NamedTuple):
    """Something that was said of the dispatcher, in our own words."""

    ident: str
    subject: str
    """A few words, for lists."""
    version: Version
    said: str
    verdict: Verdict
    today: str
    """What is so in PyTorch 2.13."""
    source: Source
    steps: tuple[Steps, ...]
    """The steps of a trace that it is about."""
    shown_by: str
    """What shows such a step, after ``dispatchviz run``."""


class Reason(NamedTuple):
    """Why something is as it is."""

    ident: str
    question: str
    answer: str
    """Three to six sentences."""
    look: str
    """What to look at where it happens."""
    source: Source
    steps: tuple[Steps, ...]
    shown_by: str


class Steps(NamedTuple):
    """Events of a kind whose fields have some values; a text is a pattern: ``VariableType::*``."""

    kind: type[ev.Event]
    fields: tuple[tuple[str, str | int], ...]


def seen(kind: type[ev.Event], **fields: str | int) -> Steps:
    """``seen(ev.Dispatched, operator="aten::randn", how="call*")``."""
    return Steps(kind, tuple(fields.items()))


def fits(steps: Steps, event: ev.Event) -> bool:
    """Return whether an event is one of those."""
    return isinstance(event, steps.kind) and all(_is(getattr(event, name), wanted) for name, wanted in steps.fields)


def _is(value: object, wanted: str | int) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return value == wanted

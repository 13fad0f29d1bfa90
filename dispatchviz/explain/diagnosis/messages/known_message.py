"""One message that PyTorch raises: how it is recognized, and what is true of it in every program.

A message is written as PyTorch writes it, with its variable parts in braces: ``{name}`` is a word, ``{name:n}`` a
number, ``{name:shape}`` a shape, ``{name:text}`` any text. ``detail`` says what these values mean in words.
"""

from __future__ import annotations

import re
from functools import cached_property

from dispatchviz.foundation import shipped_examples

PARTS = {
    "": r"<?[\w.:>-]*[\w>]",
    "n": r"-?\d+",
    "shape": r"(?:torch\.Size\()?\[[^\]]*\]\)?",
    "text": r".{1,300}?",
}
"""What each kind of variable part looks like."""

MANY = re.compile(r"\b1 (channel|column|dimension|element|feature|input|number|row|size|target|value)s\b")
"""One of what a detail has in the plural."""

FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")


class KnownMessage:
    """An entry of the table."""

    def __init__(
        self,
        kind: str,
        says: str,
        *,
        cause: str,
        fix: str,
        detail: str = "",
        or_says: tuple[str, ...] = (),
        diagnosis: str = "",
        engine: str = "model",
    ) -> None:
        self.kind = kind
        """Its name, and that of the program that shows it."""
        self.says = says
        """What PyTorch says, in the release that we model."""
        self.or_says = or_says
        """The same in other operators or releases."""
        self.cause = cause
        """Why PyTorch raises it, in general."""
        self.fix = fix
        """What to change, in general."""
        self.detail = detail
        """What the values of one such message say."""
        self.diagnosis = diagnosis
        """The kind of diagnosis that a program with this error gets, or how several begin; empty without a rule."""
        self.engine = engine
        """``torch`` if only an installed PyTorch raises it: the model lacks what the program calls."""

    def __repr__(self) -> str:
        return f"KnownMessage({self.kind!r})"

    @property
    def example(self) -> str:
        """The program that shows it, as a command names it; empty if none ships."""
        name = f"{shipped_examples.ERRORS}/{re.sub(r'[^a-z0-9_]+', '_', self.kind.lower())}"
        path = shipped_examples.folder() / f"{name}.py"
        return f"{shipped_examples.FOLDER}/{name}.py" if path.is_file() else ""

    @property
    def command(self) -> str:
        """What runs that program; empty if none ships."""
        engine = " --engine torch" if self.engine == "torch" else ""
        return f"dispatchviz why{engine} {self.example}" if self.example else ""

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """Regular expressions for its forms, however their lines are broken."""
        return tuple(map(_pattern, (self.says, *self.or_says)))

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """A fixed part of each form, small letters: a text without any of them has not this message."""
        return tuple(max(FIELD.split(form)[::3], key=len).strip().casefold() for form in (self.says, *self.or_says))

    def why(self, values: dict[str, str]) -> str:
        """The cause, after what the values of one message say."""
        try:
            detail = MANY.sub(r"1 \1", self.detail.format(**values).replace("1 indices", "1 index"))
        except KeyError:  # this form of the message does not have them
            detail = ""
        return f"{detail} {self.cause}".lstrip()


def _pattern(form: str) -> re.Pattern[str]:
    parts = FIELD.split(form)
    found = [_fixed(parts[0])]
    for name, kind, fixed in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found += [f"(?P<{name}>{PARTS[kind or '']})", _fixed(fixed)]
    return re.compile("".join(found), re.IGNORECASE | re.DOTALL)


def _fixed(text: str) -> str:
    return re.sub(r"(?:\\ )+", r"\\s+", re.escape(text))

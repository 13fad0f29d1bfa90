"""A message that PyTorch raises: its pattern, and the explanation that holds in every program.

A message is written as in PyTorch, with its variable parts in braces: ``{name}`` is a word, ``{name:n}`` a number,
``{name:shape}`` a shape, ``{name:text}`` any text. ``detail`` states these values in words.
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
"""The regular expression for each kind of variable part."""

MANY = re.compile(r"\b1 (channel|column|dimension|element|feature|input|number|row|size|target|value)s\b")
"""The pattern of a plural noun after 1 in a detail."""

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
        """The name of the entry, and of its example program."""
        self.says = says
        """PyTorch's text in the release that we model."""
        self.or_says = or_says
        """The texts of other operators or releases."""
        self.cause = cause
        """The general reason why PyTorch raises it."""
        self.fix = fix
        """The general fix."""
        self.detail = detail
        """A sentence with the values of one message."""
        self.diagnosis = diagnosis
        """The kind of diagnosis for a program with this error, or a prefix of several kinds; empty if there is no
        rule.
        """
        self.engine = engine
        """``torch`` if only an installed PyTorch raises it, because the model lacks the functions that the program
        calls.
        """

    def __repr__(self) -> str:
        return f"KnownMessage({self.kind!r})"

    @property
    def example(self) -> str:
        """The path of its example program in commands; empty if none ships."""
        name = f"{shipped_examples.ERRORS}/{re.sub(r'[^a-z0-9_]+', '_', self.kind.lower())}"
        path = shipped_examples.folder() / f"{name}.py"
        return f"{shipped_examples.FOLDER}/{name}.py" if path.is_file() else ""

    @property
    def command(self) -> str:
        """The command that runs that program; empty if none ships."""
        engine = " --engine torch" if self.engine == "torch" else ""
        return f"dispatchviz why{engine} {self.example}" if self.example else ""

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """Regular expressions for its texts, with any line breaks."""
        return tuple(map(_pattern, (self.says, *self.or_says)))

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """A fixed part of each text in lowercase. A text without any of them does not contain this message."""
        return tuple(max(FIELD.split(form)[::3], key=len).strip().casefold() for form in (self.says, *self.or_says))

    def why(self, values: dict[str, str]) -> str:
        """Return the cause, after the sentence with the values of one message."""
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

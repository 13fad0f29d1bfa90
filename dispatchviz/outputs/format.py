"""One format of files that a trace becomes, as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatchviz.outputs.chosen_steps import Steps

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.outputs.picture.chosen_picture import Chosen


@dataclass(frozen=True)
class Request:
    """One file that is wanted of a trace."""

    path: str
    """Where to; ``-`` is standard output."""
    suffix: str
    """Which form of the format."""
    chosen: Chosen | None = None
    """Which picture; None: the backward graph."""
    steps: Steps = field(default_factory=Steps)
    """Which steps, how much of them."""
    run: str = ""
    """The name of the run in a table."""
    source: str = ""
    """What the command names: a program or a trace."""


@dataclass(frozen=True)
class Format:
    """A format: its files are found, checked, written and described by it alone."""

    suffixes: tuple[str, ...]
    named: str
    """With its article, as errors name it: ``a picture``."""
    help: str
    """A line of ``dispatchviz export --help``."""
    docs: str
    """The page of the documentation about it."""
    check: Callable[[str, str], None]
    """Raises DispatchvizError if a file of a path and suffix cannot be written, or would replace another kind."""
    write: Callable[[Trace, Request], str]
    """Writes the file; returns a remark about it, or an empty text. Raises DispatchvizError if it cannot."""
    options: frozenset[str] = frozenset()
    """Options of ``export`` that it takes, besides those of every recording."""
    binary: tuple[str, ...] = ()
    """Suffixes whose files are no text for a terminal."""
    form: str = ""
    """Its word for ``--format``, if that is not the suffix without its dot."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The words for ``--format``."""
        return (self.form,) if self.form else tuple(suffix[1:] for suffix in self.suffixes)

    @property
    def listed(self) -> str:
        """``a picture is .svg, .dot, .png or .pdf``."""
        return f"{self.named} is {either(self.suffixes)}"


def either(suffixes: Sequence[str]) -> str:
    """``.a, .b or .c``."""
    *others, last = suffixes
    return f"{', '.join(others)} or {last}" if others else last

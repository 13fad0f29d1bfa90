"""A format for files that are made from a trace, as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dispatchviz.outputs.chosen_steps import Steps

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.outputs.picture.chosen_picture import Chosen


class Request(Struct, frozen=True):
    """A request for a file."""

    path: str
    """The path of the file; ``-`` is standard output."""
    suffix: str
    """The form of the format."""
    chosen: Chosen | None = None
    """The requested picture; None is the backward graph."""
    steps: Steps = field(default_factory=Steps)
    """The requested steps, and how much of each."""
    run: str = ""
    """The name of the run in a table."""
    source: str = ""
    """The program or trace that the command names."""


class Format(Struct, frozen=True):
    """A format. It alone finds, checks, writes and describes its files."""

    suffixes: tuple[str, ...]
    named: str
    """The format's name with its article, as errors print it: ``a picture``."""
    help: str
    """A line of ``dispatchviz export --help``."""
    docs: str
    """The page of the documentation about it."""
    check: Callable[[str, str], None]
    """Check a path and a suffix. Raise DispatchvizError if the file cannot be written or if it would replace a file of
    another kind.
    """
    write: Callable[[Trace, Request], str]
    """Write the file and return a note about it, which may be empty. Raise DispatchvizError if that fails."""
    options: frozenset[str] = frozenset()
    """Options of ``export`` that the format accepts, besides those of every recording."""
    binary: tuple[str, ...] = ()
    """Suffixes of files that are not text for a terminal."""
    form: str = ""
    """The format's word for ``--format``, if it is not the suffix without its dot."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The words for ``--format``."""
        return (self.form,) if self.form else tuple(suffix[1:] for suffix in self.suffixes)

    @property
    def listed(self) -> str:
        """The format with its suffixes: ``Pictures: .svg .dot .png .pdf``."""
        return f"{self.named.partition(' ')[2].capitalize()}s: {' '.join(self.suffixes)}"


def either(suffixes: Sequence[str]) -> str:
    """Return the suffixes as a list in words: ``.a, .b or .c``."""
    *others, last = suffixes
    return f"{', '.join(others)} or {last}" if others else last

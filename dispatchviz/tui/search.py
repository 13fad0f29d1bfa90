"""What a search looks through: the words of a step and the name of its kind, upper and lower case alike."""

from __future__ import annotations

from dispatchviz.core.trace import Trace
from dispatchviz.explain.labels import label
from dispatchviz.tui.text import Line, line


class Search:
    """A trace prepared for searching; a text is made when a search first comes by."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._texts: list[str | None] = [None] * len(trace)
        self.query = ""

    def matches(self, at: int) -> bool:
        """Whether the step has every word of the query."""
        text = self._text(at)
        return all(word in text for word in self.query.casefold().split())

    def hits(self) -> list[int]:
        """The steps that match; none for an empty query."""
        return [at for at in range(len(self._trace)) if self.matches(at)] if self.query.strip() else []

    def note(self, at: int, more: str = "") -> Line:
        """Which of how many hits the reader is at."""
        hits = self.hits()
        if not hits:
            return line((f" No step has {self.query}" if self.query.strip() else "", "warning"))
        place = f" Hit {hits.index(at) + 1} of {len(hits)}" if at in hits else f" {len(hits)} hits"
        return line((place, "hint"), (f"  {more}", "dim"))

    def _text(self, at: int) -> str:
        text = self._texts[at]
        if text is None:
            text = self._texts[at] = f"{label(self._trace, at)} {type(self._trace[at]).__name__}".casefold()
        return text

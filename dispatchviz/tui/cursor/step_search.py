"""Search: the steps whose label and kind have every word of a query, upper and lower case alike."""

from __future__ import annotations

from bisect import bisect_left

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_labels import label

CHUNK = 2000
"""Texts made at once while the reader is still typing: about as many milliseconds as a frame has."""


class Search:
    """The hits of one query in one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._texts: list[str] = []
        self.query = ""
        self._hits: list[int] = []

    def prepare(self) -> bool:
        """Makes the next texts; returns whether there are more to make."""
        made = len(self._texts)
        self._texts += [self._text(at) for at in range(made, min(made + CHUNK, len(self._trace)))]
        return len(self._texts) < len(self._trace)

    def hits(self, query: str) -> tuple[int, ...]:
        """The steps that have every word, without keeping the query; none for an empty one."""
        words = query.casefold().split()
        while self.prepare():
            pass
        return tuple(at for at, text in enumerate(self._texts) if all(word in text for word in words)) if words else ()

    def find(self, query: str) -> None:
        """Finds the steps that have every word of the query; none for an empty one."""
        narrower = bool(self.query.strip()) and query.startswith(self.query)
        within = self._hits if narrower else range(len(self._trace))
        self.query, words = query, query.casefold().split()
        while self.prepare():
            pass
        texts = self._texts
        self._hits = [at for at in within if all(word in texts[at] for word in words)] if words else []

    def matches(self, at: int) -> bool:
        """Whether a step is a hit."""
        index = bisect_left(self._hits, at)
        return index < len(self._hits) and self._hits[index] == at

    def position(self, at: int) -> tuple[int, int]:
        """The number of a hit, counted from 1, and how many there are; of a step that is none, of the next hit."""
        return bisect_left(self._hits, at) + 1, len(self._hits)

    def _text(self, at: int) -> str:
        return f"{label(self._trace, at)} {type(self._trace[at]).__name__}".casefold()

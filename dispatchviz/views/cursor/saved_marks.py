"""Marks with names, kept in a file beside the trace: ``forum.jsonl.gz.marks.json``."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.kept_texts import KeptTexts


class Marks:
    """The marks of one trace; without a file of the trace they last as long as the stepper."""

    def __init__(self, trace: Trace, file: str = "") -> None:
        self._kept = KeptTexts(file, "marks")
        self.names = {step: name for step, name in self._kept.read().items() if step < len(trace)}
        """Step to name, which may be empty."""

    def set(self, step: int, name: str) -> str:
        """Marks a step, or names its mark; returns what is wrong if it cannot be written."""
        self.names = dict(sorted((self.names | {step: name}).items()))
        return self._kept.change({step: name})

    def remove(self, step: int) -> str:
        """Takes a mark away; as ``set``."""
        self.names.pop(step, None)
        return self._kept.change({step: None})

"""Marks with names, kept in a file beside the trace: ``forum.jsonl.gz.marks.json``."""

from __future__ import annotations

import json
from pathlib import Path

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.record.trace_file import Trace


class Marks:
    """The marks of one trace; without a file of the trace they last as long as the stepper."""

    def __init__(self, trace: Trace, file: str = "") -> None:
        self.names: dict[int, str] = {}
        """Step to name, which may be empty."""
        self._path = Path(f"{file}.marks.json") if file else None
        if self._path is not None:
            self.names = _read(self._path, len(trace))

    def set(self, step: int, name: str) -> str:
        """Marks a step, or names its mark; returns what is wrong if it cannot be written."""
        self.names = dict(sorted((self.names | {step: name}).items()))
        return self._write()

    def remove(self, step: int) -> str:
        """Takes a mark away; as ``set``."""
        self.names.pop(step, None)
        return self._write()

    def _write(self) -> str:
        if self._path is None:
            return ""
        try:
            write_whole(self._path, f"{json.dumps({'marks': self.names}, indent=2)}\n".encode())
        except OSError as error:
            return f"{self._path} cannot be written: {error.strerror or error}"
        return ""


def _read(path: Path, steps: int) -> dict[int, str]:
    """What is there; a file of somebody else's is left alone until the first mark is set."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["marks"]
        pairs = ((int(step), str(name)) for step, name in found.items())
        return {step: name for step, name in sorted(pairs) if 0 <= step < steps}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {}

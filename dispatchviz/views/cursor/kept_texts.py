"""Texts of steps and named marks, stored in a file beside the trace: ``forum.jsonl.gz.marks.json``.

Entries of this file that this stepper does not know are preserved: steps that the trace does not have, as after another
run of the program, and entries that another stepper has written meanwhile. A file with an unknown format is never
overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.typed_text import is_whole_number, whole_number


class KeptTexts:
    """The file of one kind of texts. Without a trace file, nothing is stored."""

    def __init__(self, file: str, name: str) -> None:
        """Create the file; ``name`` is the kind of its texts, such as ``marks``."""
        self._path, self._name = Path(f"{file}.{name}.json") if file else None, name

    def read(self) -> dict[int, str]:
        """The texts by their steps, in order."""
        if self._path is None:
            return {}
        try:
            found = self._content(self._path)[self._name]
        except (OSError, ValueError):
            return {}
        return dict(sorted((whole_number(key), text) for key, text in found.items() if _is_ours(key, text)))

    def change(self, texts: Mapping[int, str | None]) -> str:
        """Store texts; None deletes one. Return an error text if the file cannot be written."""
        if self._path is None:
            return ""
        try:
            content = self._content(self._path)
            kept = {key: text for key, text in content[self._name].items() if not _is_about(key, text, texts)}
            kept |= {str(step): text for step, text in texts.items() if text is not None}
            written = content | {self._name: dict(sorted(kept.items(), key=_in_order))}
            write_whole(self._path, f"{json.dumps(written, indent=2)}\n".encode())
        except OSError as error:
            return f"cannot write {self._path}: {error.strerror or error}"
        except ValueError:
            return f"{self._path} is not a file of {self._name}. It is left unchanged, and nothing is saved"
        return ""

    def _content(self, path: Path) -> dict[str, Any]:
        """The contents of the file. Raise ValueError if its format is unknown."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            text = ""
        try:
            content = json.loads(text) if text.strip() else {self._name: {}}
        except RecursionError:
            content = None
        if not isinstance(content, dict) or not isinstance(content.get(self._name), dict):
            raise ValueError(path)
        return content


def _is_ours(key: str, text: object) -> bool:
    return is_whole_number(key) and isinstance(text, str)


def _is_about(key: str, text: object, steps: Mapping[int, object]) -> bool:
    return _is_ours(key, text) and whole_number(key) in steps


def _in_order(item: tuple[str, object]) -> tuple[bool, int, str]:
    """The sort key: steps by their numbers, other entries after them."""
    key = item[0]
    return (False, whole_number(key), key) if is_whole_number(key) else (True, 0, key)


class Marks:
    """The marks of one trace. Without a trace file, they last as long as the stepper."""

    def __init__(self, trace: Trace, file: str = "") -> None:
        self._kept = KeptTexts(file, "marks")
        self.names = {step: name for step, name in self._kept.read().items() if step < len(trace)}
        """The name of each marked step; it may be empty."""

    def set(self, step: int, name: str) -> str:
        """Mark a step or rename its mark. Return an error text if it cannot be written."""
        self.names = dict(sorted((self.names | {step: name}).items()))
        return self._kept.change({step: name})

    def remove(self, step: int) -> str:
        """Remove a mark. Return an error text if that cannot be written."""
        self.names.pop(step, None)
        return self._kept.change({step: None})

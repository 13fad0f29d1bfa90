"""The columns of a long trace, whose index is in parts: each is joined when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchviz.core.record.trace_file.column_builder import LINE, Column, grouped
from dispatchviz.core.record.trace_file.columns import Columns, Groups
from dispatchviz.core.record.trace_file.index import ARRAYS, CHANGES, GROUPS, LINES
from dispatchviz.core.record.trace_file.nesting import Nested, nested

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file.index import Part

_NESTING = ("depths", "ends", "siblings", "lines")


class JoinedColumns(Columns):
    """All parts as one."""

    _parts: Sequence[Part]
    _whole: bool

    def __init__(self, parts: Sequence[Part], whole: bool, names: Mapping[str, Any]) -> None:
        """``whole``: the columns of the nesting are to be believed. ``names`` are the fields that are no columns."""
        vars(self).update(names, _parts=parts, _whole=whole)

    def __getattr__(self, name: str) -> Any:
        """A column that was not needed yet."""
        if name in GROUPS:
            value: Any = JoinedGroups(self._parts, name, len(self.key_names))
        elif name in _NESTING and not self._whole:
            value = getattr(self._nested(), name).data
        elif name in ARRAYS or name in LINES:
            value = self._joined(name).data
        else:
            raise AttributeError(name)
        return vars(self).setdefault(name, value)

    def _joined(self, name: str) -> Column:
        column: Any = np.concatenate([np.asarray(part.arrays.get(name, ())) for part in self._parts])
        for part in self._parts if name in CHANGES else ():
            if "changed_steps" in part.arrays:
                column[np.asarray(part.arrays["changed_steps"])] = part.arrays[f"changed_{name}"]
        return column.astype({"B": np.uint8, "i": np.int32}[(ARRAYS | LINES)[name]], copy=False)  # type: ignore[no-any-return]

    def _nested(self) -> Nested:
        """What the parents say."""
        return nested(self._joined("parents"), self._joined("kinds") == LINE)


class JoinedGroups(Groups):
    """Groups of all parts as one: a number is looked up in each part; all of them are joined when they are needed."""

    def __init__(self, parts: Sequence[Part], name: str, keys: int) -> None:
        """``keys``: how many names of keys the trace has."""
        self._groups = [_counted_again(part, keys) if name == "of_call" else part.groups[name] for part in parts]

    def __getitem__(self, number: int) -> Sequence[int]:
        if "steps" in vars(self):
            return super().__getitem__(number)
        found = [steps for groups in self._groups if len(steps := groups.get(number, ()))]
        if not found:
            raise KeyError(number)
        return found[0] if len(found) == 1 else np.concatenate(found).astype(np.int32, copy=False).data

    def __getattr__(self, name: str) -> Any:
        if name not in ("numbers", "begins", "steps"):
            raise AttributeError(name)
        counts = [np.diff(np.asarray([*groups.begins, len(groups.steps)])) for groups in self._groups]
        numbers = [np.repeat(np.asarray(each.numbers), count) for each, count in zip(self._groups, counts, strict=True)]
        joined = grouped(np.concatenate(numbers), np.concatenate([np.asarray(each.steps) for each in self._groups]))
        vars(self).update(vars(joined))
        return vars(self)[name]


def _counted_again(part: Part, keys: int) -> Groups:
    """The calls of a part, whose numbers are made with fewer keys than the trace has."""
    groups = part.groups["of_call"]
    if part.keys == keys or not part.keys:
        return groups
    operators, of_keys = np.divmod(np.asarray(groups.numbers, np.int64), part.keys)
    return Groups((operators * keys + of_keys).astype(np.int32).data, groups.begins, groups.steps)

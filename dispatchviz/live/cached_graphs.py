"""The graphs of a compilation that comes from AOTAutograd's cache, read from the text that PyTorch stored with it.

The text is that of ``GraphModule.print_readable``. It has no autograd Nodes.
"""

from __future__ import annotations

import re
from typing import Any

from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.live.graph_lines import LONGEST, ShownFile, picked_keys

Keys = tuple[tuple[str, str], ...]

_PLACE = re.compile(r"^ *# File: (.+):(\d+) in .*?, code: ")
_LINE = re.compile(r'^ +(\w+)(?:: "(\w+)\[([^]"]*)\][^"]*")? = (.*?)(?:;  [\w =]+)?(?:  # .*)?$')
_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)\.(\w+)\(")
_SAVED = re.compile(r"^ +(\w+),  # SavedForBackwardsAOTOutput", re.MULTILINE)


class CachedGraphs:
    """The reader of stored texts."""

    def __init__(self, torch: Any, shown: ShownFile) -> None:
        self._torch, self._shown = torch, shown
        self._dtypes: dict[str, str] = {}

    def lines(self, text: str) -> tuple[GraphLine, ...]:
        """Return the lines that compute something."""
        place, found = ("", 0), list[GraphLine]()
        for line in text.splitlines():
            if at := _PLACE.match(line):
                place = self._shown(at[1]), int(at[2])
            elif made := _LINE.match(line):
                name, dtype, sizes, code = made.groups()
                value = "" if dtype is None else f"[{sizes}] {self._dtype(dtype)}"
                found.append(self._line(name, code, value, place))
        return tuple(found)

    def _line(self, name: str, code: str, value: str, place: tuple[str, int]) -> GraphLine:
        operator = _OPERATOR.match(code)
        called, keys = self._called(*operator.groups()) if operator else ("", ())
        text = code.removeprefix("torch.ops.")[:LONGEST]
        return GraphLine(name, "call_function", text, called, value, *place, "", "", -1, keys)

    def _called(self, namespace: str, name: str, overload: str) -> tuple[str, Keys]:
        """Return the name of an operator, and the kernels that the Python dispatcher picked for it."""
        dotted = "" if overload == "default" else f".{overload}"
        return f"{namespace}::{name}{dotted}", self._keys(namespace, name, overload)

    def _keys(self, namespace: str, name: str, overload: str) -> Keys:
        packet = vars(getattr(self._torch.ops, namespace)).get(name)
        found = None if packet is None else vars(packet).get(overload)
        return () if found is None else tuple(picked_keys(found))

    def _dtype(self, short: str) -> str:
        """Return the name of a dtype from its abbreviation."""
        if not self._dtypes:
            known = self._torch.fx.graph.dtype_abbrs
            self._dtypes = {abbreviation: str(dtype).removeprefix("torch.") for dtype, abbreviation in known.items()}
        return self._dtypes.get(short, short)


def saved_values(text: str) -> tuple[str, ...]:
    """Return the names of the values that a forward graph saves for the backward graph."""
    return tuple(_SAVED.findall(text))

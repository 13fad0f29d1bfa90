"""The memory of saved tensors in a plain run of a program on PyTorch, observed from outside at each line.

A pair of saved-tensor hooks packs each tensor into an object of ours. PyTorch deletes that object when the Node drops
the tensor. PyTorch does not pass Python numbers that became tensors to hooks.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

Storage = tuple[int, int]
"""The address and the number of bytes of a storage."""


class AtLine(NamedTuple):
    """The state when a line of the program's top level is about to run."""

    sizes: list[int]
    """The sizes of the storages that Nodes keep, in order."""
    variables: Mapping[str, int]
    """The size of the storage of each variable that is a tensor, if a Node keeps that storage."""


Lines = dict[tuple[int, int], AtLine]
"""The states by the number of the line, and by how often it has run."""


class _Kept:
    """The stand-in for a saved tensor."""

    def __init__(self, tensor: Any, living: dict[int, Storage]) -> None:
        self.tensor, self._living = tensor.detach(), living  # with its history it would keep its own Node alive
        storage = storage_of(tensor)
        if storage is not None:
            living[id(self)] = storage

    def __del__(self) -> None:
        self._living.pop(id(self), None)


def storage_of(tensor: Any) -> Storage | None:
    """Return the storage of a tensor, or None if it has none that can be read."""
    with contextlib.suppress(RuntimeError, NotImplementedError):
        storage = tensor.untyped_storage()
        return None if tensor.device.type == "meta" else (storage.data_ptr(), storage.nbytes())
    return None


def observed(torch: Any, source: str) -> Lines:
    """Run a program and observe each line of its top level. An exception ends the program silently."""
    living: dict[int, Storage] = {}
    found, times = Lines(), Counter[int]()
    code = compile(source, "<observed>", "exec")
    names: dict[str, Any] = {"__name__": "__main__"}

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            times[frame.f_lineno] += 1
            found[frame.f_lineno, times[frame.f_lineno]] = _state(torch, names, set(living.values()))
        return line

    hooks = torch.autograd.graph.saved_tensors_hooks(lambda tensor: _Kept(tensor, living), lambda kept: kept.tensor)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), hooks, contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        _traced(code, names, line)
    return found


def _traced(code: CodeType, names: dict[str, Any], line: Any) -> None:
    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code is code else None)
    try:
        exec(code, names)
    finally:
        sys.settrace(before)


def _state(torch: Any, names: Mapping[str, Any], living: set[Storage]) -> AtLine:
    tensors = ((name, value) for name, value in names.items() if isinstance(value, torch.Tensor))
    storages = ((name, storage_of(value)) for name, value in tensors)
    held = {name: storage[1] for name, storage in storages if storage is not None and storage in living}
    return AtLine(sorted(size for _, size in living if size), held)

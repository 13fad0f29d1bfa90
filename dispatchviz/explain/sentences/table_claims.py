"""The facts about dispatch tables and keys that sentences state. ``sentence_claims.py`` has all other claims.

They are apart because ``why OP KEY`` and ``keys`` need no others, and making forty classes takes 4 ms.
"""

from __future__ import annotations

from typing import NamedTuple


class FilledCells(NamedTuple):
    """The number of entries of an operator's dispatch table that hold a kernel."""

    operator: str
    cells: int


class CellHolds(NamedTuple):
    """The kernel in the dispatch table entry of an operator for a key."""

    operator: str
    key: str
    kernel: str
    """The kernel's name; empty if the entry is empty."""
    reason: str
    """PyTorch's tag."""


class CellAfter(NamedTuple):
    """The content of a dispatch table entry after one registration or deregistration."""

    operator: str
    change: str
    """``impl``: one more kernel; ``fallthrough``: one more fallthrough; ``without``: the active kernel is gone."""
    under: str
    """The key or alias of the registration."""
    key: str
    kernel: str
    reason: str


class StaleAfter(NamedTuple):
    """The dispatch table entries that PyTorch leaves out of date after this change."""

    operator: str
    change: str
    under: str
    keys: tuple[str, ...]


class CallVisits(NamedTuple):
    """The dispatch table entries that a call with ordinary tensors of one backend visits, as far as the table
    decides.
    """

    operator: str
    backend: str
    keys: tuple[str, ...]
    """The keys, in order. The last one ends the call, by its kernel or because its entry is empty."""
    change: str = ""
    under: str = ""
    """The key or alias of the change; empty if nothing changes."""


class MissingRaises(NamedTuple):
    """The claim that a call raises NotImplementedError if it lands in the empty entry of a key."""

    operator: str
    key: str
    message: str
    """The beginning of the error text."""


class BackendKeys(NamedTuple):
    """The key set of an ordinary tensor of a backend key, created outside inference mode."""

    backend: str
    raw: int


class NamedSet(NamedTuple):
    """A set that has a name in PyTorch."""

    name: str
    """``after_autograd_keyset``; ``FULL_AFTER(Python)``."""
    raw: int


class AliasKeys(NamedTuple):
    """The runtime keys that an alias covers."""

    alias: str
    keys: tuple[str, ...]


class FallbackIs(NamedTuple):
    """The fallback of a key, for operators that register nothing better: ``none``, ``fallthrough`` or ``kernel``."""

    key: str
    fallback: str


class OperatorsRegistered(NamedTuple):
    """The number of PyTorch's operators with a kernel for a key or alias itself."""

    key: str
    operators: int


class OperatorsServed(NamedTuple):
    """The number of PyTorch's operators with a kernel in the entry of a key."""

    key: str
    operators: int


class Unparsable(NamedTuple):
    """The claim that PyTorch cannot parse the name of a key."""

    key: str


class AutogradKernel(NamedTuple):
    """The effect of the kernel that an operator has for the alias Autograd."""

    operator: str
    records: str
    """The name of the Node that it creates; ``out``: no Node, but an error; ``not implemented``: a Node that raises an
    error.
    """

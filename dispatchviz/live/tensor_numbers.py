"""Numbers for the objects of a real PyTorch, which have no place for them: tensors, storages and Nodes.

Nothing is kept alive: whether a gradient may be stolen depends on reference counts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from ctypes import c_size_t
from typing import Any

MANY = 1 << 12
"""So many numbers of objects that may be gone are kept before they are looked through."""


class WeakNumbers:
    """Numbers of objects by identity, as long as they live."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref[Any], int]] = {}
        """By ``id``; of an object that is gone until it is looked through."""
        self._many = MANY

    def get(self, thing: object) -> int:
        """Its number; -1 if it has none."""
        known = self.known.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else -1

    def set(self, thing: object, number: int) -> None:
        """Numbers it."""
        if len(self.known) > self._many:
            self._forget_gone()
        self.known[id(thing)] = weakref.ref(thing), number

    def _forget_gone(self) -> None:
        for key in [key for key, known in list(self.known.items()) if known[0]() is None]:
            del self.known[key]
        self._many = max(MANY, 2 * len(self.known))


class StorageNumbers:
    """Numbers of storages by where they begin, as long as a tensor lives that was met there. After that a tensor which
    no kernel made (a Node unpacks what it saved) is on the storage of old, one that a kernel made on a new one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, list[weakref.ref[Any]]]] = {}
        self._many = MANY

    def get(self, address: int, tensor: object, made: bool) -> int:
        """The number of a tensor's storage; -1 if it has none."""
        known = self._known.get(address)
        if known is None or not address or (made and all(one() is None for one in known[1])):
            return -1
        known[1].append(weakref.ref(tensor))
        if not len(known[1]) & 63:
            known[1][:] = [one for one in known[1] if one() is not None]
        return known[0]

    def set(self, address: int, tensor: object, number: int) -> None:
        """Numbers it."""
        if len(self._known) > self._many:
            self._known = {at: known for at, known in self._known.items() if any(one() is not None for one in known[1])}
            self._many = max(MANY, 2 * len(self._known))
        self._known[address] = number, [weakref.ref(tensor)]


class NodeNumbers:
    """Numbers of Nodes. Python's object of a Node lives no longer than somebody holds it, so a Node is known by its
    sequence number, which its thread gives once, and an AccumulateGrad, which has none, by its leaf and its address.
    One that the program renumbers (``_set_sequence_nr``) is known by its address.

    NB: Nodes of one name that two threads gave the same sequence number cannot be told apart.
    """

    def __init__(self, next_sequence_nr: Callable[[], int]) -> None:
        """``next_sequence_nr``: what this thread gives to the next Node."""
        self._next_sequence_nr = next_sequence_nr
        self._known: dict[tuple[str, int], int] = {}
        self._at: dict[tuple[str, int], int] = {}
        """By name and address, of the last Node that was met there."""
        self.accumulators = WeakNumbers()
        """By leaf, of the AccumulateGrad that it had when this was last asked."""
        self._addresses: dict[int, int] = {}
        """By number, of each AccumulateGrad."""
        self.topological: dict[int, int] = {}
        """By number, of Nodes met."""

    def get(self, node: Any) -> int:
        """Its number; -1 if it has none."""
        name = node.name()
        if name == ACCUMULATE and (leaf := node.variable) is not None:
            number = self.accumulators.get(leaf)
            return number if self._addresses.get(number) == _address(node) else -1
        sequence_nr = node._sequence_nr()
        number = self._known.get((name, sequence_nr), -1)
        if number < 0 and sequence_nr >= self._next_sequence_nr():  # no Node got that number when it was made
            number = self._at.get((name, _address(node)), -1)
        return number

    def set(self, node: Any, number: int) -> None:
        """Numbers it."""
        name = node.name()
        if name == ACCUMULATE and (leaf := node.variable) is not None:
            self.accumulators.set(leaf, number)
            self._addresses[number] = _address(node)
        else:
            self._known[name, node._sequence_nr()] = number
            self._at[name, _address(node)] = number


def _address(node: Any) -> int:
    """Where a Node is in memory: the first member of Python's object of it points there. (Not of a Function of
    Python's, whose first member is something else.)

    A leaf holds its AccumulateGrad by a weak pointer, which keeps the memory of one that is gone until there is
    another: so that one is elsewhere.
    """
    return c_size_t.from_address(id(node) + object.__basicsize__).value


ACCUMULATE = "torch::autograd::AccumulateGrad"
"""``Node::name`` of an AccumulateGrad."""

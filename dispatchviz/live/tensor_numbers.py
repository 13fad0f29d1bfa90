"""Numbers for the tensors, storages and Nodes of an installed PyTorch, which have no place for a number of their own.

Nothing is kept alive, because reference counts decide whether a gradient may be stolen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from ctypes import c_size_t, sizeof
from typing import Any, Protocol

MANY = 1 << 12
"""The number of entries, some for objects that are gone, that are kept before they are looked through."""


class Numbered(weakref.ref[Any]):
    """A weak reference to an object, with its number. The garbage collector looks at one object instead of two, as it
    would for a tuple with a weak reference.
    """

    __slots__ = ("bits", "is_unread", "node", "number", "reported")
    number: int
    reported: tuple[tuple[int, ...], tuple[int, ...]] | None
    """The sizes and strides that the innermost kernel gave this tensor, if any."""
    node: int
    """The number of a tensor's Node when it was last looked at; -1 if it had none."""
    bits: int
    """The bits of the key set with which the tensor's numbers were read last."""
    is_unread: bool
    """True if the tensor had too many elements to record their numbers, or none that can be read."""


class WeakNumbers:
    """Numbers of objects by identity, as long as they live."""

    def __init__(self) -> None:
        self.known: dict[int, Numbered] = {}
        """References by ``id``. Those of objects that are gone stay until they are looked through."""
        self._many = MANY

    def get(self, thing: object) -> int:
        """Return the number of an object; -1 if it has none."""
        known = self.known.get(id(thing))
        return known.number if known is not None and known() is thing else -1

    def set(self, thing: object, number: int) -> Numbered:
        """Number an object."""
        if len(self.known) > self._many:
            self._forget_gone()
        known = self.known[id(thing)] = Numbered(thing)
        known.number, known.node, known.reported, known.bits, known.is_unread = number, -1, None, 0, False
        return known

    def gets_node(self, tensor: object, node: int) -> int:
        """Return the number of a tensor that has a Node; -1 if it had the same Node before, or if it is unknown."""
        known = self.known.get(id(tensor))
        if known is None or known.node == node or known() is not tensor:
            return -1
        known.node = node
        return known.number

    def has_node(self, tensor: object) -> bool:
        """Return whether a Node of the tensor was noted."""
        known = self.known.get(id(tensor))
        return known is not None and known.node >= 0 and known() is tensor

    def forget_all(self) -> None:
        """Forget all numbers, in a forked child."""
        self.known.clear()

    def _forget_gone(self) -> None:
        for key in [key for key, known in list(self.known.items()) if known() is None]:
            del self.known[key]
        self._many = max(MANY, 2 * len(self.known))


There = weakref.ref[Any] | list[weakref.ref[Any]]
"""The tensors that were met on a storage. If there is only one, which is common, there is no list for the garbage
collector to look at.
"""


class StorageNumbers:
    """Numbers of storages by their address, as long as a tensor lives that was met there.

    After that, a tensor that no kernel made (one that a Node unpacks) is on the old storage. A tensor that a kernel
    made, which it may have returned or passed to another operator, is on a new one.
    """

    def __init__(self, fresh: Iterator[int]) -> None:
        self._fresh = fresh
        self.newest = -1
        """The number that was given last."""
        self._numbers: dict[int, int] = {}
        self._there: dict[int, There] = {}
        self._many = MANY

    def of(self, address: int, tensor: weakref.ref[Any], made: bool) -> int:
        """Return the number of a tensor's storage, and give it one if it has none."""
        there = self._there.get(address)
        if there is None or not address or (made and not _any_lives(there)):
            if len(self._there) > self._many:
                self._forget_gone()
            number = self._numbers[address] = self.newest = next(self._fresh)
            self._there[address] = tensor
            return number
        if isinstance(there, weakref.ref):
            self._there[address] = [there, tensor]
        else:
            there.append(tensor)
            if not len(there) & 63:
                there[:] = [one for one in there if one() is not None]
        return self._numbers[address]

    def at(self, address: int, tensor: weakref.ref[Any]) -> int:
        """Return the number of the storage at an address to which a known tensor may have moved."""
        there = self._there.get(address)
        lives = there is not None and address and _any_lives(there)
        return self._numbers[address] if lives else self.of(address, tensor, True)

    def forget_all(self) -> None:
        """Forget all numbers, in a forked child."""
        self._numbers.clear()
        self._there.clear()

    def _forget_gone(self) -> None:
        self._there = {at: there for at, there in self._there.items() if _any_lives(there)}
        self._numbers = {at: self._numbers[at] for at in self._there}
        self._many = max(MANY, 2 * len(self._there))


def _any_lives(there: There) -> bool:
    if isinstance(there, weakref.ref):
        return there() is not None
    return there[-1]() is not None or any(one() is not None for one in there)  # the newest lives longest


class HasNewest(Protocol):
    """The state of a thread."""

    newest: int
    """The highest sequence number among the thread's own Nodes that were met; -1 before the first one."""


class NodeNumbers:
    """Numbers of Nodes.

    Python's object for a Node lives only as long as it is referenced. So a Node is identified by its address and the
    sequence number that its thread gave it. An AccumulateGrad, which has no sequence number, is identified by its leaf
    and its address. A Node that the program renumbers (``_set_sequence_nr``) is identified by its address, and the Node
    of a custom Function by its object, which lives as long.

    NB: an AccumulateGrad that its leaf gave up while a Node held it shares its number with the next one at its address.
    """

    def __init__(self, next_sequence_nr: Callable[[], int], function: type) -> None:
        """Create the numbers. ``next_sequence_nr`` returns the number of the next Node of this thread; ``function`` is
        the class of the Nodes of custom Functions.
        """
        self._next_sequence_nr = next_sequence_nr
        self._function = function
        self._functions = WeakNumbers()
        self._known: dict[type | None, dict[int, tuple[int, int]]] = {}
        """The sequence number and the number of the last Node that was met of a class at an address. AccumulateGrads
        without a leaf have no class here.
        """
        self.accumulators = WeakNumbers()
        """The number of each leaf's AccumulateGrad when it was last read."""
        self._addresses: dict[int, int] = {}
        """The address of each AccumulateGrad by its number."""
        self._replaced: dict[int, tuple[weakref.ref[Any], int]] = {}
        """The leaf and the number of each AccumulateGrad that its leaf will not use again, by its address."""
        self._highest = -1
        """The highest sequence number so far."""

    def of_result(self, node: Any, sequence_nr: int, thread: HasNewest) -> int:
        """Return the same as ``get`` for a Node with this sequence number, which is usually a new one of this
        thread.
        """
        if thread.newest < sequence_nr < self._next_sequence_nr():
            return -1
        return self.get(node)

    def get(self, node: Any) -> int:
        """Return the number of a Node; -1 if it has none."""
        known = self._known.get(type(node))
        if known is None:
            if isinstance(node, self._function):
                return self._functions.get(node)
            if node.name() == ACCUMULATE and (leaf := node.variable) is not None:
                return self._of_leaf(leaf, _address(node))
            known = self._known.get(None)
        found = None if known is None else known.get(MEMORY[id(node) + FIRST_MEMBER >> BY_WORDS])
        if found is None:
            return -1
        sequence_nr = node._sequence_nr()
        is_renumbered = sequence_nr > self._highest and sequence_nr >= self._next_sequence_nr()
        return found[1] if found[0] == sequence_nr or is_renumbered else -1

    def _of_leaf(self, leaf: Any, address: int) -> int:
        """Return the number of the AccumulateGrad of a leaf at an address; -1 if it has none."""
        number = self.accumulators.get(leaf)
        if self._addresses.get(number) == address:
            return number
        replaced = self._replaced.get(address)
        return replaced[1] if replaced is not None and replaced[0]() is leaf else -1

    def is_reset(self, leaf: Any, now: Any) -> None:
        """Note that a leaf is about to give up its AccumulateGrad. ``now`` is the current one."""
        number = self.accumulators.get(leaf)
        self.accumulators.set(leaf, -1)
        address = self._addresses.pop(number, 0)
        if now is not None and _address(now) == address:
            self._replaced[address] = weakref.ref(leaf), number

    def set(self, node: Any, name: str, sequence_nr: int, number: int, thread: HasNewest) -> None:
        """Number a Node with this name and sequence number, which this thread meets."""
        if name == ACCUMULATE and (leaf := node.variable) is not None:
            self.accumulators.set(leaf, number)
            address = self._addresses[number] = _address(node)
            self._replaced.pop(address, None)
            return
        if isinstance(node, self._function):
            self._functions.set(node, number)
        else:
            kind = None if name == ACCUMULATE else type(node)
            self._known.setdefault(kind, {})[_address(node)] = sequence_nr, number
        if sequence_nr > self._highest:
            self._highest = sequence_nr
        if thread.newest < sequence_nr < self._next_sequence_nr():
            thread.newest = sequence_nr


def _address(node: Any) -> int:
    """Return the address of a Node, from the first member of its Python object. This does not work for a custom
    Function, whose first member is something else.

    A leaf holds its AccumulateGrad by a weak pointer, which keeps the memory of a deleted one until there is another.
    So the new one has another address.
    """
    return MEMORY[id(node) + FIRST_MEMBER >> BY_WORDS]


MEMORY = (c_size_t * (1 << 59)).from_address(0)
"""All memory as an array of numbers. Making an object for each read would take five times as long."""
FIRST_MEMBER, BY_WORDS = object.__basicsize__, sizeof(c_size_t).bit_length() - 1
"""The offset of the first member of an object, and the number of bits by which an address is an index of ``MEMORY``."""
ACCUMULATE = "torch::autograd::AccumulateGrad"
"""``Node::name`` of an AccumulateGrad."""

"""Events of a call through the dispatcher, from the key set to the kernel's return.

``aten/src/ATen/core/dispatch/Dispatcher.h``, ``aten/src/ATen/core/dispatch/OperatorEntry.cpp``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import CellNumber, Count, KeySet, LineNumber, TensorNumber

CallKind = Literal["call", "redispatch", "callBoxed", "redispatchBoxed", "callBoxedForDispatchKey"]
"""Methods of ``c10::Dispatcher``: a call computes the key set, a redispatch is given it; boxed arguments are on a
stack; the last one is given the key whose kernel runs."""

CellReason = Literal[
    "kernel",
    "default backend kernel",
    "nested kernel",
    "ambiguous autogradother",
    "math kernel",
    "autograd kernel",
    "batched kernel",
    "backend fallback",
    "missing",
]
"""Why a cell of a dispatch table holds what it holds: PyTorch's tags
(``OperatorEntry::computeDispatchTableEntryWithDebug``)."""


class Dispatched(Container, frozen=True):
    """An operator is called or redispatched; open until the chosen kernel has returned."""

    how: CallKind
    """The method of the dispatcher."""
    operator: str
    """Qualified name of the operator, with its overload: ``aten::add.Tensor``."""
    key_set: KeySet
    """The effective key set, as a 64-bit number; its highest key selects the cell, unless the call names a key."""
    key: str
    """The highest runtime key of ``key_set``: ``AutogradCUDA``."""


class KeySetComputed(Event, frozen=True):
    """How a call (not a redispatch) came to its key set; every set is a 64-bit number.

    ``c10/core/impl/LocalDispatchKeySet.h``, ``aten/src/ATen/core/dispatch/DispatchKeyExtractor.h``.
    """

    arguments: tuple[tuple[str, TensorNumber, KeySet], ...]
    """Of each defined tensor argument: parameter name (``tensors[0]`` for a member of a list), tensor number, key
    set."""
    included: KeySet
    """The thread's included key set."""
    excluded: KeySet
    """The thread's excluded key set."""
    mask: KeySet
    """The operator's mask (``nonFallthroughKeys``): the bits of keys that fall through are 0."""
    effective: KeySet
    """The resulting key set: ``without_excluded & mask``."""
    generator: KeySet = 0
    """Key set of the random generator among the arguments, 0 if there is none; boxed calls do not look at it."""

    @property
    def united(self) -> int:
        """OR of the arguments' sets."""
        keys = self.generator
        for _, _, raw in self.arguments:
            keys |= raw
        return keys

    @property
    def with_included(self) -> int:
        """``united`` with the thread's included set."""
        return self.united | self.included

    @property
    def without_excluded(self) -> int:
        """Then without the excluded set; subtraction never clears a backend bit."""
        return self.with_included & (0xFFFF | ~self.excluded)


class FallthroughSkipped(Event, frozen=True):
    """Keys that the mask removed from this call's set, because their cell holds a fallthrough."""

    keys: tuple[tuple[str, CellReason, str], ...]
    """Of each key, highest first: name, reason of its cell, where that fallthrough was registered (as in
    ``KernelSelected.registered``)."""


class KernelSelected(Event, frozen=True):
    """The cell of the operator's table that was selected, and why it holds what it holds."""

    operator: str
    """Qualified name of the operator: ``aten::add.Tensor``."""
    key: str
    """The runtime key that the cell belongs to: ``AutogradCUDA``."""
    cell: CellNumber
    """Index into the operator's table of 137 cells (``getDispatchTableIndexForDispatchKeySet``)."""
    kernel: str
    """Name of the kernel in the cell: ``VariableType::add_Tensor``; empty if the cell is empty."""
    reason: CellReason
    """Why the cell holds that kernel."""
    source: str
    """The key or alias under which that kernel is registered: ``Autograd``; empty if the cell is empty."""
    registered: str
    """Where that kernel is registered, as PyTorch's dump prints it: ``registered at FILE:LINE``; empty if unknown."""
    candidates: tuple[tuple[str, str, str], ...]
    """Every key or alias the kernel could have come from, in order of precedence: key or alias, outcome (``taken``,
    ``nothing registered``, ``not reached`` after one that was taken, or why it was passed over), kernel name (empty if
    none). Before format 3 ``not reached`` was ``not asked``, and ``does not cover KEY`` ``does not stand for KEY``."""


class KernelEntered(Container, frozen=True):
    """The kernel of a cell runs; open until it returns."""

    kernel: str
    """PyTorch's name of it: ``VariableType::add_Tensor``, ``wrapper_CUDA_add_Tensor``; ``missing`` if the cell is
    empty."""
    pytorch_file: str
    """The file of PyTorch in which it is registered: ``torch/csrc/autograd/generated/VariableType_2.cpp``; empty if
    unknown."""
    key_set: KeySet
    """The key set that the kernel receives, as a 64-bit number: the effective one of the call."""
    file: str
    """The Python file that implements it: relative to this package (``core/generated/variable_type.py``), or the
    user's; empty if it has none."""
    line: LineNumber
    """First line of the function in ``file``, from 1; 0 if it has none."""
    end_line: LineNumber
    """Last line of the function in ``file``; 0 if it has none."""


class KernelReturned(Event, frozen=True):
    """The kernel returned. ``parent`` is its ``KernelEntered``."""

    tensors: tuple[TensorNumber, ...]
    """Numbers of the returned tensors, in order, or of the members of a returned list; other values are left out."""


class ResultHashed(Event, frozen=True):
    """A kernel has computed a tensor, and is about to return it: a hash of its numbers. Only of a recording that was
    asked for hashes (``record(hashes=True)``, ``--hashes``).

    None of views, whose base has one, of memory that nobody has written yet (``empty``), and of what a kernel passes
    on. ``parent`` is its ``KernelEntered``, or the ``Dispatched`` of a boxed call."""

    tensor: TensorNumber
    """Number of the tensor."""
    hash: str
    """Of dtype, shape and numbers, in contiguous order: 16 hexadecimal digits. All NaN are one number, and -0.0 is
    0.0."""


IValueTag = Literal[
    "None", "Tensor", "Storage", "Double", "ComplexDouble", "Int", "UInt", "Bool", "Tuple", "String", "GenericList",
    "GenericDict", "Device", "Stream", "Object", "Generator",
]  # fmt: skip
"""``c10::IValue::Tag`` (``aten/src/ATen/core/ivalue.h``), as far as values here have them: symbolic numbers, futures
and quantizers have tags of their own. A list of integers has no tag of its own, nor has a dtype, which is an ``Int``.
"""


class Boxed(Event, frozen=True):
    """Typed values were pushed onto a stack: the arguments of a boxed kernel, or what a typed kernel returned to a
    boxed caller (``aten/src/ATen/core/boxing``)."""

    operator: str
    """Qualified name of the operator."""
    values: Count
    """How many values were pushed."""
    contents: tuple[tuple[IValueTag, str], ...] = ()
    """Of each value, the deepest first: the tag of its ``IValue``, and the value as text: ``t3`` is a tensor (its
    number), a dtype, layout or memory format is its number and its name, and what is long is cut. Empty in traces of
    earlier versions."""


class Unboxed(Event, frozen=True):
    """Values were popped from a stack, for a typed kernel or a typed caller (``aten/src/ATen/core/boxing``)."""

    operator: str
    """Qualified name of the operator."""
    values: Count
    """How many values were popped."""
    contents: tuple[tuple[IValueTag, str], ...] = ()
    """Those values, as in ``Boxed``."""

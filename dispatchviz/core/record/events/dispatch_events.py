"""Events of a call through the dispatcher, from the key set to the kernel's return.

They are about ``aten/src/ATen/core/dispatch/Dispatcher.h`` and ``aten/src/ATen/core/dispatch/OperatorEntry.cpp``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import CellNumber, Count, KeySet, LineNumber, TensorNumber

CallKind = Literal[
    "call",
    "redispatch",
    "callBoxed",
    "redispatchBoxed",
    "callBoxedForDispatchKey",
    "pyobject_dispatch",
    "pyobject_redispatch",
]
"""Methods of ``c10::Dispatcher``. A call computes the key set; a redispatch is given it. Boxed arguments are on a
stack. ``callBoxedForDispatchKey`` is given the key whose kernel runs.

The last two are functions of ``torch/csrc/utils/python_dispatch.cpp``: they look up the kernel of a custom operator and
pass it the Python objects as they are, if the kernel is a Python function; otherwise, they go on with
``redispatchBoxed``.
"""

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
"""The reason for the content of a dispatch table entry: PyTorch's tags
(``OperatorEntry::computeDispatchTableEntryWithDebug``).
"""


class Dispatched(Container, frozen=True):
    """An operator is called or redispatched. The event is open until the chosen kernel has returned."""

    how: CallKind
    """The function that looks up the kernel."""
    operator: str
    """Qualified name of the operator, with its overload: ``aten::add.Tensor``."""
    key_set: KeySet
    """The effective key set, as a 64-bit number. Its highest key selects the dispatch table entry, unless the call
    names a key.
    """
    key: str
    """The highest runtime key of ``key_set``: ``AutogradCUDA``."""

    @property
    def is_redispatch(self) -> bool:
        """True if the key set was given, False if it was computed from the arguments."""
        return "redispatch" in self.how

    @property
    def passes_objects(self) -> bool:
        """True if Python objects reach a Python kernel without a stack."""
        return self.how.startswith("pyobject")


class KeySetComputed(Event, frozen=True):
    """The computation of the key set of a call (not a redispatch). Every set is a 64-bit number.

    It is done in ``c10/core/impl/LocalDispatchKeySet.h`` and ``aten/src/ATen/core/dispatch/DispatchKeyExtractor.h``.
    """

    arguments: tuple[tuple[str, TensorNumber, KeySet], ...]
    """For each defined tensor argument: parameter name (``tensors[0]`` for a member of a list), tensor number, key
    set.
    """
    included: KeySet
    """The thread-local include set."""
    excluded: KeySet
    """The thread-local exclude set."""
    mask: KeySet
    """The operator's mask (``nonFallthroughKeys``): the bits of keys that fall through are 0."""
    effective: KeySet
    """The resulting key set: ``without_excluded & mask``."""
    generator: KeySet = 0
    """Key set of the random generator among the arguments, 0 if there is none. Boxed calls ignore generators."""

    @property
    def united(self) -> int:
        """The OR of the arguments' key sets."""
        keys = self.generator
        for _, _, raw in self.arguments:
            keys |= raw
        return keys

    @property
    def with_included(self) -> int:
        """The ``united`` set with the thread-local include set."""
        return self.united | self.included

    @property
    def without_excluded(self) -> int:
        """The ``with_included`` set without the exclude set. Subtraction never clears a backend bit."""
        return self.with_included & (0xFFFF | ~self.excluded)


class FallthroughSkipped(Event, frozen=True):
    """The mask removed keys from this call's set, because their dispatch table entries hold a fallthrough."""

    keys: tuple[tuple[str, CellReason, str], ...]
    """For each key, highest first: name, reason of its entry, place where the fallthrough was registered (as in
    ``KernelSelected.registered``).
    """


class KernelSelected(Event, frozen=True):
    """The dispatch table entry that was selected, and the reason for its content."""

    operator: str
    """Qualified name of the operator: ``aten::add.Tensor``."""
    key: str
    """The runtime key of the entry: ``AutogradCUDA``."""
    cell: CellNumber
    """Index of the entry in the operator's table of 137 entries (``getDispatchTableIndexForDispatchKeySet``)."""
    kernel: str
    """Name of the kernel in the entry: ``VariableType::add_Tensor``; empty if there is none."""
    reason: CellReason
    """The reason why the entry holds that kernel."""
    source: str
    """The key or alias under which that kernel is registered: ``Autograd``; empty if there is no kernel."""
    registered: str
    """The place of the kernel's registration, as PyTorch's dump prints it: ``registered at FILE:LINE``; empty if
    unknown.
    """
    candidates: tuple[tuple[str, str, str], ...]
    """Every key or alias from which the kernel could come, in order of precedence: key or alias, outcome, kernel name
    (empty if none). The outcome is ``taken``, ``nothing registered``, ``not reached`` (after the one that was taken),
    or the reason why it was passed over. Before format 3, ``not reached`` was ``not asked``, and ``does not cover KEY``
    was ``does not stand for KEY``.
    """


class KernelEntered(Container, frozen=True):
    """The kernel of a dispatch table entry runs. The event is open until it returns."""

    kernel: str
    """PyTorch's name of it: ``VariableType::add_Tensor``, ``wrapper_CUDA_add_Tensor``; ``missing`` if the entry is
    empty.
    """
    pytorch_file: str
    """The PyTorch file in which it is registered: ``torch/csrc/autograd/generated/VariableType_2.cpp``; empty if
    unknown.
    """
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
    """Numbers of the returned tensors, in order, or of the members of a returned list. Other values are left out."""


class ResultHashed(Event, frozen=True):
    """A kernel has computed a tensor and is about to return it. The event has a hash of its numbers, and is only in
    recordings with hashes (``record(hashes=True)``, ``--hashes``).

    There is none for views, whose base has one, for memory that has not been written (``empty``), and for tensors that
    a kernel passes on. ``parent`` is its ``KernelEntered``, or the ``Dispatched`` of a boxed call.
    """

    tensor: TensorNumber
    """Number of the tensor."""
    hash: str
    """Hash of dtype, shape and numbers, in contiguous order: 16 hexadecimal digits. All NaN count as the same number,
    and -0.0 counts as 0.0.
    """


IValueTag = Literal[
    "None", "Tensor", "Storage", "Double", "ComplexDouble", "Int", "UInt", "Bool", "Tuple", "String", "GenericList",
    "GenericDict", "Device", "Stream", "Object", "Generator",
]  # fmt: skip
"""The tags of ``c10::IValue::Tag`` (``aten/src/ATen/core/ivalue.h``) that values here can have. Symbolic numbers,
futures and quantizers have other tags. A list of integers has no tag of its own. Neither has a dtype, which is an
``Int``.
"""


class Boxed(Event, frozen=True):
    """Typed values were pushed onto a stack: the arguments of a boxed kernel, or the results of a typed kernel for a
    boxed caller (``aten/src/ATen/core/boxing``).
    """

    operator: str
    """Qualified name of the operator."""
    values: Count
    """Number of values that were pushed."""
    contents: tuple[tuple[IValueTag, str], ...] = ()
    """For each value, the deepest first: the tag of its ``IValue``, and the value as text. ``t3`` is a tensor (its
    number). A dtype, layout or memory format is its number and its name. Long texts are cut. Empty in traces of earlier
    versions.
    """


class Unboxed(Event, frozen=True):
    """Values were popped from a stack, for a typed kernel or a typed caller (``aten/src/ATen/core/boxing``)."""

    operator: str
    """Qualified name of the operator."""
    values: Count
    """Number of values that were popped."""
    contents: tuple[tuple[IValueTag, str], ...] = ()
    """The values, as in ``Boxed``."""

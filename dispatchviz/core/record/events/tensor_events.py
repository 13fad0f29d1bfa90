"""Events of tensors: creation, views, versions, and changes of existing tensors."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import (
    CounterNumber,
    KeySet,
    Size,
    StorageNumber,
    Stride,
    TensorNumber,
    Version,
)

CreationMeta = Literal["DEFAULT", "MULTI_OUTPUT_NODE", "NO_GRAD_MODE", "INFERENCE_MODE", "IN_CUSTOM_FUNCTION"]
"""The circumstances in which a view was created. A view that is not ``DEFAULT`` must not be written to in grad mode
(``CreationMeta`` in ``torch/csrc/autograd/variable.h``).
"""

TensorOrigin = Literal["new", "known before"]
"""The origin of a tensor: created while recording, or older and met for the first time."""


InplaceVerdict = Literal[
    "grad mode is off",
    "no argument requires grad",
    "it does not require grad",
    "it is not a leaf",
    "view whose creation_meta forbids it",
    "view of a leaf that requires grad",
    "leaf that requires grad",
]
"""The condition that decides whether a tensor may be written to in place. The last three forbid it
(``can_mutate_inplace`` in ``torch/csrc/autograd/VariableTypeUtils.h``).
"""


class TensorCreated(Event, frozen=True):
    """A tensor appears for the first time: it is created now, or existed when the recording began."""

    tensor: TensorNumber
    """Number of the tensor. Tensors are counted from 0, in order of appearance."""
    how: TensorOrigin
    """The origin: created now, or existing when the recording began."""
    shape: tuple[Size, ...]
    """Its sizes."""
    stride: tuple[Stride, ...]
    """Its strides, in elements."""
    dtype: str
    """Its dtype: ``torch.float32``."""
    device: str
    """Its device: ``cuda:0``, ``cpu``, ``meta``."""
    key_set: KeySet
    """Its key set, as a 64-bit number (``TensorImpl::key_set``)."""
    storage: StorageNumber
    """Number of its storage, from 0. Tensors with one storage share memory. -1 if it has no memory of its own: meta
    tensors, wrappers of a transform.
    """
    requires_grad: bool
    """True if it requires grad, as a leaf or because it has a ``grad_fn``."""
    wrapped_number: bool
    """True if it is a Python number passed for a tensor parameter (``is_wrapped_number``)."""
    value: str = ""
    """That number, as Python writes it: ``0.1``. Empty for other tensors, for a number in a device's memory, and in
    traces of older versions."""


class ViewMade(Event, frozen=True):
    """A tensor became a differentiable view (``as_view``, ``torch/csrc/autograd/VariableTypeUtils.h``)."""

    tensor: TensorNumber
    """Number of the view."""
    base: TensorNumber
    """Number of the root base, which is never itself a view."""
    creation_meta: CreationMeta
    """The circumstances in which the view was created."""


class VersionBumped(Event, frozen=True):
    """A version counter (shared by all views of the storage) was incremented (``c10::VariableVersion::bump``)."""

    tensor: TensorNumber
    """Number of the tensor that was written to."""
    before: Version
    """Version before."""
    after: Version
    """Version afterwards."""
    counter: CounterNumber = -1
    """Number of the version counter, from 0. Tensors that share one detect each other's changes. -1 in traces of older
    versions.
    """


class GeometryChanged(Event, frozen=True):
    """An existing tensor got other sizes or strides: ``resize_``, outputs of the wrong size, in-place views, ``x.data =
    y``, ``x.set_(y)``."""

    tensor: TensorNumber
    """Number of the tensor."""
    shape: tuple[Size, ...]
    """Its sizes afterwards."""
    stride: tuple[Stride, ...]
    """Its strides afterwards, in elements."""
    dtype: str = ""
    """Its dtype afterwards, for ``x.data = y`` and ``x.set_(y)``; else empty."""
    device: str = ""
    """Its device afterwards, for ``x.data = y`` and ``x.set_(y)``; else empty."""
    storage: StorageNumber = -1
    """Its storage afterwards, for ``x.data = y`` and ``x.set_(y)``; else -1."""


class RequiresGradSet(Event, frozen=True):
    """``requires_grad_()`` was called on a leaf, or ``detach_()``. No key changes."""

    tensor: TensorNumber
    """Number of the tensor."""
    requires_grad: bool
    """Its ``requires_grad`` afterwards."""
    detached: bool = False
    """True if ``detach_()`` did it: its history, if it had one, is gone too."""


class GradSet(Event, frozen=True):
    """A tensor's ``.grad`` was replaced without an AccumulateGrad: by ``x.grad = None``, or by the hook of
    ``retain_grad``.
    """

    tensor: TensorNumber
    """Number of the tensor."""
    result: TensorNumber | None
    """Tensor number of ``.grad`` afterwards; None if it has none."""
    retained: bool
    """True if ``retain_grad`` did it, while backward runs; else the attribute was assigned."""


class KeySetChanged(Event, frozen=True):
    """The key set of an existing tensor changed (conj and neg bits, Python keys)."""

    tensor: TensorNumber
    """Number of the tensor."""
    before: KeySet
    """Its key set before, as a 64-bit number."""
    after: KeySet
    """Its key set afterwards, as a 64-bit number."""


class NumbersRecorded(Event, frozen=True):
    """The numbers of a small tensor, recorded when they may have changed: it is an argument or a result of a call, or
    its memory was written to. It is only in recordings with numbers: those of a command, up to a limit, and of
    ``record(values=16)``.
    """

    tensor: TensorNumber
    """Number of the tensor."""
    storage: StorageNumber
    """Number of the storage that holds them."""
    numbers: str
    """All numbers, in the brackets of Python's lists, each as NumPy writes it: ``[[0.1, 2.0], [3.0, nan]]``. Empty for
    a tensor with more elements that was written to. Also empty once NumPy or the program has access to its memory and
    may change it unseen.
    """
    written: bool
    """True if its memory was written to by this call, or may be from then on: recorded numbers of other tensors on that
    memory are no longer valid.
    """
    waited: bool = False
    """True if they were copied from a GPU, which had to finish its work first. The program alone does not wait
    there.
    """
    last: bool = False
    """True if the recording has reached its limit: no more numbers are recorded, and the previous ones are no longer
    valid.
    """
    unseen: bool = False
    """True if no recorded call wrote them. The memory was written to at an unknown step since the previous numbers."""


class InplaceChecked(Event, frozen=True):
    """An autograd kernel checks whether its operator may write to a tensor (``check_inplace``)."""

    tensor: TensorNumber
    """Number of the tensor that is about to be written to."""
    allowed: bool
    """True if it may be written to. Otherwise the kernel raises."""
    why: InplaceVerdict
    """The condition that decides."""

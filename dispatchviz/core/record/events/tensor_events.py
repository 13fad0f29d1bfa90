"""Events of tensors: creation, views, versions, and what changes of an existing one."""

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
"""How a view was made: one that is not ``DEFAULT`` must not be written to in grad mode (``CreationMeta`` in
``torch/csrc/autograd/variable.h``)."""

TensorOrigin = Literal["new", "known before"]
"""Whether a tensor was made while recording, or was met for the first time and is older."""


InplaceVerdict = Literal[
    "grad mode is off",
    "no argument requires grad",
    "it does not require grad",
    "it is not a leaf",
    "view whose creation_meta forbids it",
    "view of a leaf that requires grad",
    "leaf that requires grad",
]
"""What decides whether a tensor may be written to in place; the last three forbid it (``can_mutate_inplace`` in
``torch/csrc/autograd/VariableTypeUtils.h``)."""


class TensorCreated(Event, frozen=True):
    """A tensor appears for the first time: created now, or already there when recording began."""

    tensor: TensorNumber
    """Number of the tensor: they are counted from 0, in order of appearance."""
    how: TensorOrigin
    """Created now, or already there when recording began."""
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
    """Number of its storage, from 0; tensors with one storage share memory. -1 if it has no memory
    of its own: meta tensors, wrappers of a transform."""
    requires_grad: bool
    """It requires grad, as a leaf or because it has a ``grad_fn``."""
    wrapped_number: bool
    """It is a Python number passed for a tensor parameter (``is_wrapped_number``)."""
    value: str = ""
    """That number, as Python writes it: ``0.1``. Empty for other tensors, for a number in a device's memory, and in
    traces of older versions."""


class ViewMade(Event, frozen=True):
    """``as_view``: a tensor became a differentiable view (``torch/csrc/autograd/VariableTypeUtils.h``)."""

    tensor: TensorNumber
    """Number of the view."""
    base: TensorNumber
    """Number of the root base, which is never itself a view."""
    creation_meta: CreationMeta
    """How the view was made."""


class VersionBumped(Event, frozen=True):
    """A version counter (shared by all views of the storage) was incremented (``c10::VariableVersion::bump``)."""

    tensor: TensorNumber
    """Number of the tensor that was written to."""
    before: Version
    """Version until then."""
    after: Version
    """Version from here on."""
    counter: CounterNumber = -1
    """Number of the version counter, from 0: tensors that share one detect each other's changes. -1 in traces of older
    versions."""


class GeometryChanged(Event, frozen=True):
    """An existing tensor got other sizes or strides: ``resize_``, outputs of the wrong size, in-place views, ``x.data =
    y``, ``x.set_(y)``."""

    tensor: TensorNumber
    """Number of the tensor."""
    shape: tuple[Size, ...]
    """Its sizes from here on."""
    stride: tuple[Stride, ...]
    """Its strides from here on, in elements."""
    dtype: str = ""
    """Its dtype from here on, of ``x.data = y`` and ``x.set_(y)``; else empty."""
    device: str = ""
    """Its device from here on, of ``x.data = y`` and ``x.set_(y)``; else empty."""
    storage: StorageNumber = -1
    """The storage that it is on from here on, of ``x.data = y`` and ``x.set_(y)``; else -1."""


class RequiresGradSet(Event, frozen=True):
    """``requires_grad_()`` on a leaf, or ``detach_()``: no key changes."""

    tensor: TensorNumber
    """Number of the tensor."""
    requires_grad: bool
    """Its ``requires_grad`` from here on."""
    detached: bool = False
    """By ``detach_()``: its history, if there was one, is gone too."""


class GradSet(Event, frozen=True):
    """A tensor's ``.grad`` is another one without an AccumulateGrad: ``x.grad = None``, or by the hook that
    ``retain_grad`` registered."""

    tensor: TensorNumber
    """Number of the tensor."""
    result: TensorNumber | None
    """Tensor number of ``.grad`` from here on; None: it has none."""
    retained: bool
    """By ``retain_grad``, while backward runs; else the attribute was assigned to."""


class KeySetChanged(Event, frozen=True):
    """The key set of an existing tensor changed (conj and neg bits, Python keys)."""

    tensor: TensorNumber
    """Number of the tensor."""
    before: KeySet
    """Its key set until then, as a 64-bit number."""
    after: KeySet
    """Its key set from here on, as a 64-bit number."""


class NumbersRecorded(Event, frozen=True):
    """The numbers of a small tensor, when they may have become others: it is met as an argument or a result of a call,
    or its memory was written to. Only of a recording that has numbers: of a command, up to a limit, and of
    ``record(values=16)``."""

    tensor: TensorNumber
    """Number of the tensor."""
    storage: StorageNumber
    """Number of the storage that they are on."""
    numbers: str
    """All of them, in the brackets of Python's lists, as NumPy writes each: ``[[0.1, 2.0], [3.0, nan]]``. Empty of a
    tensor with more elements that was written to; and where its memory is from now on in the hands of NumPy or the
    program, which may change it unseen."""
    written: bool
    """Its memory was written to by this call, or may be from now on: what was said of other tensors on it is over."""
    waited: bool = False
    """They were copied from a GPU, which had to come to the end of its work before: the program alone does not wait
    there."""
    last: bool = False
    """The recording has reached its limit: from here on no numbers are recorded, and none of those before hold."""


class InplaceChecked(Event, frozen=True):
    """``check_inplace``: an autograd kernel asks whether its operator may write to a tensor."""

    tensor: TensorNumber
    """Number of the tensor that is about to be written to."""
    allowed: bool
    """Whether it may be; if not, the kernel raises."""
    why: InplaceVerdict
    """What decides."""

"""FunctionalTensorWrapper: a wrapper around a tensor that represents memory that is never written to.

This module mirrors ``aten/src/ATen/FunctionalTensorWrapper.cpp`` and ``FunctionalStorageImpl.cpp``. Writing to a
wrapper gives it another ``value``. Views of one wrapper share a ``FunctionalStorageImpl``. It keeps a write to one of
them as an update. The others receive it when they are synced: the updates are applied to the base, and the views are
replayed.

Rule 1: a wrapper has the keys of its value and Functionalize, and shares the value's version counter.
Rule 2: values are never wrappers themselves.
Rule 3: a write increments the storage's generation. A wrapper of an older generation is out of date.
"""

from __future__ import annotations

import sys
from typing import NamedTuple, cast

from msgspec import Struct

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import functorch_transforms_ks, python_ks, raw, subtract
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functionalization.view_meta import ViewMeta
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Storage, Tensor
from dispatchviz.core.thread.guards import AutoDispatchSkipFunctionalize
from dispatchviz.core.thread.thread_state import thread

FUNCTIONALIZE = raw(DispatchKey.Functionalize)


class Update(NamedTuple):
    """A pending update of the base by a view."""

    new_value: Tensor
    view_metas: tuple[ViewMeta, ...]


class FunctionalStorageImpl:
    """The state that all views of one base share."""

    def __init__(self, base: Tensor) -> None:
        if is_functional_tensor(base):
            raise RuntimeError(
                "!at::functionalization::impl::isFunctionalTensor(base_) INTERNAL ASSERT FAILED at "
                '"aten/src/ATen/FunctionalStorageImpl.cpp":105, please report a bug to PyTorch. '
            )
        self.base = base
        self.updates: list[Update] = []
        self.generation = 0
        self.nbytes = _bytes(base)

    def add_update(self, value: Tensor, view_metas: tuple[ViewMeta, ...]) -> None:
        """Keep a write. Raise RuntimeError if it cannot be undone: an ``as_strided`` after another view."""
        for position, meta in enumerate(view_metas):
            if position and meta.is_as_strided:
                raise RuntimeError(
                    f"During torch.compile, encountered a mutation on a view chain of length {len(view_metas)}, where "
                    f"view {position} was an as_strided() call. as_strided() is non-compositional, and therefore is "
                    "not possible to functionalize properly today,so this behavior is banned in compile. As a "
                    "workaround, you can either remove the mutation from the model code, or you can insert a graph "
                    "break right before the mutation with torch._dynamo.graph_break(). If you would like this behavior "
                    "to work properly, please comment on https://github.com/pytorch/pytorch/issues/104505."
                )
        self.updates.append(Update(value, view_metas))
        self.generation += 1

    def apply_updates(self) -> None:
        """Apply all writes to the base, in order."""
        with AutoDispatchSkipFunctionalize():
            for update in self.updates:
                self.base = _applied(update, self.base)
        self.updates.clear()


def _applied(update: Update, base: Tensor) -> Tensor:
    """Return the base after a write to a view, or a view of a view: each view is inverted, the last one first."""
    if not update.view_metas:
        return update.new_value
    bases = [base]
    for meta in update.view_metas[:-1]:
        bases.append(meta.forward(bases[-1]))
    value = update.new_value
    for meta, its_base in zip(reversed(update.view_metas), reversed(bases), strict=True):
        value = meta.reverse(its_base, value)
    return value


def _bytes(tensor: Tensor) -> int:
    if 0 in tensor._size:
        return 0
    last = sum((length - 1) * step for length, step in zip(tensor._size, tensor._stride, strict=True))
    return (tensor._offset + last + 1) * tensor._dtype.itemsize


class FunctionalTensorWrapper(Struct, eq=False):
    """The ``Tensor._impl`` of a functional tensor."""

    value: Tensor
    storage: FunctionalStorageImpl
    view_metas: tuple[ViewMeta, ...] = ()
    """The views that lead from the base to this tensor."""
    generation: int = 0
    """The generation of the storage when the value was last updated."""
    has_metadata_mutation: bool = False


# -- wrapping ----------------------------------------------------------------------------------------------------------


def is_functional_tensor(tensor: Tensor | None) -> bool:
    """Return whether a tensor is a wrapper."""
    return tensor is not None and bool(tensor._ks & FUNCTIONALIZE)


def functional_wrapper(tensor: Tensor) -> FunctionalTensorWrapper:
    """The FunctionalTensorWrapper of a tensor."""
    return cast(FunctionalTensorWrapper, tensor._impl)


def to_functional_tensor(value: Tensor) -> Tensor:
    """Return a wrapper; Python numbers are returned unchanged. Raise RuntimeError if the tensor is a wrapper
    already.
    """
    if value._wrapped_number:
        return value
    return _wrapped(value, FunctionalTensorWrapper(value, FunctionalStorageImpl(value)))


def create_functional_tensor_with_view_meta(view: Tensor, base: Tensor, meta: ViewMeta) -> Tensor:
    """Return a wrapper around a view of the value of ``base``."""
    of_base = functional_wrapper(base)
    return _wrapped(view, FunctionalTensorWrapper(view, of_base.storage, (*of_base.view_metas, meta)))


def _wrapped(value: Tensor, impl: FunctionalTensorWrapper) -> Tensor:
    keys = FUNCTIONALIZE | subtract(value._ks, functorch_transforms_ks | python_ks)
    tensor = Tensor(keys, None, Storage(None), value._size, value._stride, value._offset, value._dtype, value._device)
    tensor._version_counter = value._version_counter
    tensor._impl = impl
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def from_functional_tensor(tensor: Tensor | None, assert_functional: bool = True) -> Tensor | None:
    """Return the value, which may be out of date. Raise RuntimeError if the tensor must be a wrapper and is not."""
    if tensor is None or tensor._wrapped_number:
        return tensor
    if is_functional_tensor(tensor):
        return functional_wrapper(tensor).value
    if assert_functional:
        raise RuntimeError(
            '!assert_functional INTERNAL ASSERT FAILED at "aten/src/ATen/FunctionalTensorWrapper.cpp":560, please '
            "report a bug to PyTorch. "
        )
    return tensor


# -- writing -----------------------------------------------------------------------------------------------------------


def replace_(tensor: Tensor, value: Tensor) -> None:
    """Give the wrapper another value and that value's sizes. The value is cast to the wrapper's dtype."""
    impl = functional_wrapper(tensor)
    impl.value = value
    tensor._size, tensor._stride, tensor._offset = value._size, value._stride, value._offset
    if tensor._dtype is not value._dtype:
        with AutoDispatchSkipFunctionalize():
            impl.value = ops._to_copy.call(value, tensor._dtype, None, None, None, False, None)


def commit_update(tensor: Tensor) -> None:
    """Note that the value was written. All views of its storage are then out of date, this one too."""
    impl = functional_wrapper(tensor)
    impl.storage.add_update(impl.value, impl.view_metas)


def sync(tensor: Tensor | None) -> None:
    """Apply pending updates to a wrapper. Any other tensor is unchanged."""
    if tensor is None or tensor._wrapped_number or not is_functional_tensor(tensor):
        return
    impl = functional_wrapper(tensor)
    if impl.generation == impl.storage.generation:
        return
    impl.storage.apply_updates()
    with AutoDispatchSkipFunctionalize():
        value = impl.storage.base
        for meta in impl.view_metas:
            value = meta.forward(value)
        replace_(tensor, value)
    impl.generation = impl.storage.generation


def mutate_view_meta(tensor: Tensor, meta: ViewMeta) -> None:
    """Make the wrapper a view of its previous value, for an in-place view."""
    impl = functional_wrapper(tensor)
    impl.view_metas = (*impl.view_metas, meta)
    impl.has_metadata_mutation = True
    with AutoDispatchSkipFunctionalize():
        value = impl.value = meta.forward(impl.value)
    tensor._size, tensor._stride, tensor._offset = value._size, value._stride, value._offset


def reset_storage(tensor: Tensor, value: Tensor) -> None:
    """Replace the storage after a resize made it larger (``maybe_replace_storage``). Raise RuntimeError for a view."""
    impl = functional_wrapper(tensor)
    shared = sys.getrefcount(impl.storage) > _ONE_HOLDER
    if impl.view_metas or shared:
        raise RuntimeError(
            "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass"
        )
    impl.value, impl.storage, impl.generation = value, FunctionalStorageImpl(value), 0
    impl.has_metadata_mutation = True
    tensor._size, tensor._stride, tensor._offset = value._size, value._stride, value._offset


_ONE_HOLDER = 2
"""The result of ``sys.getrefcount`` for an object with one holder."""


# -- the thread --------------------------------------------------------------------------------------------------------


def reapply_views() -> bool:
    """Return whether views are replayed as views. Otherwise they are replayed as copies."""
    return thread.state.functionalization_reapply_views

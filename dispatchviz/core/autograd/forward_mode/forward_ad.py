"""Forward mode: the tangent of a tensor (``fw_grad``), read, computed and set.

This module mirrors ``torch/csrc/autograd/autograd_meta.cpp`` (``fw_grad``, ``set_fw_grad``) and the functions of
``FunctionsManual.cpp`` that the generated kernels call (``toNonOptFwGrad`` and similar ones). Levels are in
``forward_grad.py``, the operators that make and unpack dual tensors in ``variable_type_manual.py``, the formulas in
``native/derivatives.yaml``.

Rule 1: a tensor and its tangent have the same size, strides, offset, amount of memory and conj and neg bits. A tangent
with another layout is copied.
Rule 2: the tangent of a view is the same view of the base's tangent, so both share memory as the tensors do.
Rule 3: an in-place operation writes into the existing tangent.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from dispatchviz.core.autograd.forward_mode.forward_grad import ForwardGrad
from dispatchviz.core.autograd.forward_mode.forward_grad import levels as levels
from dispatchviz.core.autograd.variables.view_replay import ReplayedViewMeta, replay
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.conj_neg_bits import is_conj, is_neg, set_conj, set_neg
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.forward_ad_events import ForwardFormulaKind, TangentSource

# -- reading ----------------------------------------------------------------------------------------------------------


def fw_grad(tensor: Tensor, level: int = 0) -> Tensor | None:
    """The tangent; None if there is none or forward mode is off in this thread (``Tensor::_fw_grad``).

    The tangent of a view whose base was written to is created on first access.
    """
    if not thread.state.fw_grad_mode:
        return None
    holder = tensor._fw_grad
    direct = None if holder is None else holder.content.get(level)
    if direct is not None or tensor._view is None:
        return direct
    base = tensor._view.forward_base
    base_tangent = None if base is None else fw_grad(base, level)
    if base is None or base_tangent is None:
        return None
    tangent = _same_view(tensor, base_tangent)
    tensor._fw_grad = ForwardGrad()
    tensor._fw_grad.set_value(tangent, level)
    _record_tangent(tensor, tangent, "a view of the base's tangent")
    return tangent


def is_fw_grad_defined(*tensors: Tensor | None) -> bool:
    """Return whether any of the tensors has a tangent (``isFwGradDefined(a) || isFwGradDefined(b) ...``)."""
    return any(tensor is not None and fw_grad(tensor) is not None for tensor in tensors)


def _same_view(view: Tensor, tangent: Tensor) -> Tensor:
    """Return the view of the base's tangent that corresponds to ``view``."""
    if isinstance(view._view, ReplayedViewMeta):
        return replay(view._view.view_funcs, tangent)
    return ops.as_strided.call(tangent, view._size, view._stride, view._offset)


# -- for formulas -----------------------------------------------------------------------------------------------------


def tangent_or_zero(tensor: Tensor) -> Tensor:
    """Return the tangent, or zeros that take no memory: ``X_t`` of a formula."""
    tangent = fw_grad(tensor)
    if tangent is None:
        tangent = ops._efficientzerotensor.call(tensor._size, tensor._dtype, "strided", tensor._device, None)
    if tensor._wrapped_number:
        tangent._wrapped_number = True
    return tangent


def tangent_or_zeros(tensor: Tensor, tangent: Tensor | None) -> Tensor:
    """Return the tangent, or real zeros, since they may be written to: ``self_t`` of an in-place operation."""
    if tangent is not None:
        return tangent
    return ops.zeros.call(tensor._size, tensor._dtype, "strided", tensor._device, None)


def primal(tensor: Tensor) -> Tensor:
    """Return the tensor without its tangent: ``X_p`` of a formula (``toNonOptPrimal``)."""
    return tensor if tensor._wrapped_number else ops._fw_primal.call(tensor, 0)


def tangents_of_list(tensors: list[Tensor]) -> list[Tensor] | None:
    """Return a tangent for each tensor, or None if none of them has one, for the formulas of operators on lists."""
    if not is_fw_grad_defined(*tensors):
        return None
    found = []
    for tensor in tensors:
        tangent = fw_grad(tensor)
        if tangent is None:
            tangent = ops._efficientzerotensor.call(tensor._size, tensor._dtype, "strided", tensor._device, None)
        found.append(tangent)
    return found


class forward_formula:
    """A context manager around a forward formula, which records the formula."""

    __slots__ = ("_recorder", "formula", "how")

    def __init__(self, formula: str, how: ForwardFormulaKind = "") -> None:
        self.formula = formula
        self.how = how
        """The keyword ``auto_linear`` or ``auto_element_wise``; empty if the entry has the formula itself."""

    def __enter__(self) -> None:
        self._recorder = recorder.active
        if self._recorder is not None:
            self._recorder.forward_formula_entered(self.formula, self.how)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._recorder is not None:
            self._recorder.leave()


# -- writing ----------------------------------------------------------------------------------------------------------


def set_fw_grad(tensor: Tensor | None, new_grad: Tensor | None, level: int = 0, is_inplace_op: bool = False) -> None:
    """Set the tangent if both tensors exist (``Tensor::_set_fw_grad``). Raise RuntimeError if the tangent has a tangent
    itself, or another size.
    """
    if tensor is None or new_grad is None:
        return
    if fw_grad(new_grad, level) is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level{level} is not supported."
        )
    if not (new_grad._dtype.can_require_grad and tensor._dtype.can_require_grad):
        raise RuntimeError(f"{_FLOATING}Expected both tensor and its forward grad to be floating point or complex")
    if tensor._fw_grad is None:
        tensor._fw_grad = ForwardGrad()
    elif tensor._fw_grad.value(level) is not None:
        _check_same(tensor._fw_grad.content[level], new_grad, is_inplace_op)
        _record_tangent(tensor, new_grad, "written in place")
        return
    if not ops.is_same_size.call(tensor, new_grad):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor._size)} while the given forward gradient is of size "
            f"{list(new_grad._size)}."
        )
    how: TangentSource = "stored without a copy"
    if is_inplace_op and tensor._view is not None:
        propagated = _through_base(tensor, new_grad, level)
        how = how if propagated is new_grad else "copied into a view of the base's tangent"
        new_grad = propagated
    if not _has_same_meta(new_grad, tensor):
        if tensor._view is not None and tensor._view.forward_base is not None:
            raise RuntimeError(
                f"{_REPORT}Expected the output of forward differentiable view operations to have the tangent have the "
                "same layout as primal"
            )
        new_grad, how = _copied(new_grad, tensor), "copied into the tensor's layout"
    tensor._fw_grad.set_value(new_grad, level)
    _record_tangent(tensor, new_grad, how)


_FLOATING = (
    "(new_grad_base.is_floating_point() || new_grad_base.is_complex()) && (self_base.is_floating_point() || "
    'self_base.is_complex()) INTERNAL ASSERT FAILED at "torch/csrc/autograd/autograd_meta.cpp":159, please report a '
    "bug to PyTorch. "
)


def _record_tangent(tensor: Tensor, tangent: Tensor, how: TangentSource) -> None:
    if recorder.active is not None:
        recorder.active.tangent_set(tensor, tangent, how)


_REPORT = "please report a bug to PyTorch. "
_NOT_IN_PLACE = 'is_inplace_op INTERNAL ASSERT FAILED at "torch/csrc/autograd/autograd_meta.cpp":178, '


def _check_same(present: Tensor, new_grad: Tensor, is_inplace_op: bool) -> None:
    """Raise RuntimeError if a tangent is replaced by another one."""
    if not is_inplace_op:
        raise RuntimeError(
            f"{_NOT_IN_PLACE}{_REPORT}Only inplace operations can re-set the forward grad of a Tensor that already has "
            "one."
        )
    if present is not new_grad:
        raise RuntimeError(
            f"{_REPORT}Cannot set a value of a forward grad if it already exists. Inplace operations should modify it "
            "inplace."
        )


def _through_base(tensor: Tensor, new_grad: Tensor, level: int) -> Tensor:
    """Give the base of a view that was written to a tangent that is zero elsewhere. Return the view of it."""
    assert tensor._view is not None
    base = tensor._view.forward_base
    if base is None or fw_grad(base, level) is not None:
        return new_grad
    if _has_same_meta(new_grad, base) and _has_same_meta(new_grad, tensor):
        set_fw_grad(base, new_grad, level)
        return new_grad
    whole = _zeros_with_layout_of(base, new_grad)
    part = _same_view(tensor, whole)
    ops.copy_.call(part, new_grad, False)
    set_fw_grad(base, whole, level)
    return part


def _has_same_meta(tangent: Tensor, tensor: Tensor) -> bool:
    """Return whether Rule 1 holds (``utils::has_same_meta``)."""
    if not ops._has_same_storage_numel.call(tangent, tensor):
        return False
    return (
        tangent._offset == tensor._offset
        and tangent._size == tensor._size
        and all(
            a == b or length <= 1 for length, a, b in zip(tensor._size, tangent._stride, tensor._stride, strict=True)
        )
        and is_conj(tangent) == is_conj(tensor)
        and is_neg(tangent) == is_neg(tensor)
    )


def _copied(tangent: Tensor, tensor: Tensor) -> Tensor:
    result = _zeros_with_layout_of(tensor, tangent)
    ops.copy_.call(result, tangent, False)
    return result


def _zeros_with_layout_of(tensor: Tensor, tangent: Tensor) -> Tensor:
    zeros = ops._new_zeros_with_same_feature_meta.call(tangent, tensor, 0)
    set_conj(zeros, is_conj(tensor))
    set_neg(zeros, is_neg(tensor))
    return zeros


# -- tangents of saved tensors -----------------------------------------------------------------------------------------


def saved_tangent(tensor: Tensor) -> ForwardGrad | None:
    """Return the tangent of a tensor that a Node copies. It is dropped with its level."""
    tangent = fw_grad(tensor)
    if tangent is None:
        return None
    saved = ForwardGrad()
    saved.set_value(tangent, 0)
    return saved


def restore_tangent(tensor: Tensor, saved: ForwardGrad | None) -> None:
    """Give an unpacked copy the tangent, if its level is still open."""
    tangent = None if saved is None else saved.value(0)
    if tangent is not None:
        set_fw_grad(tensor, tangent)


# -- operators without a formula ---------------------------------------------------------------------------------------

OUT = "because it is an out= function"
_ISSUE = "Please file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml"
NOT_IMPLEMENTED_IN_PLACE = (
    f"because it has not been implemented yet.\n{_ISSUE} so that we can prioritize its implementation."
)
NOT_IMPLEMENTED = (
    f"{NOT_IMPLEMENTED_IN_PLACE.removesuffix('.')} or submit a PR adding the implementation to derivatives.yaml"
)


def forbid_fw_derivatives(name: str, why: str, *tensors: Tensor | None) -> None:
    """Raise NotImplementedError if an argument has a tangent."""
    if is_fw_grad_defined(*tensors):
        raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it {why}")

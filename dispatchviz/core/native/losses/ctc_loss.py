"""``ctc_loss``: connectionist temporal classification, the loss of sequences without a known alignment
(``aten/src/ATen/native/LossCTC.cpp``).

log_probs are (time, batch, labels); targets are (batch, longest) or one row of all. A target of length L is read with
blanks around each label, so it has 2 L + 1 states. alpha[t, s] is the log probability of having read s states at time
t, beta that of reading the rest (Graves and others, 2006). Sums of logarithms are taken in PyTorch's order, and each
function of float is rounded once: where they cancel, another order would change the result.

NB: on CUDA, PyTorch calls ``_use_cudnn_ctc_loss`` to find out whether cuDNN supports the inputs.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import (
    TensorArg,
    argument_error,
    check_dim,
    check_dim_range,
    check_scalar_types,
    check_size,
)
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, SUM
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

WHERE = "ctc_loss_allocate_outputs"

# -- the public operators ----------------------------------------------------------------------------------------------


def ctc_loss_Tensor(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    """``ctc_loss`` with lengths as tensors, which are read."""
    tensors = (log_probs, targets, input_lengths, target_lengths)
    if any(is_tensor_subclass_like(tensor) for tensor in tensors):
        return _reduced(*tensors, blank, reduction, zero_infinity)
    inputs, outputs = _read_lengths(input_lengths, target_lengths)
    return _reduced(log_probs, targets, inputs, outputs, blank, reduction, zero_infinity)


def ctc_loss_IntList(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Size,
    target_lengths: Size,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    """``ctc_loss`` of a batch, or of one sequence without a batch dimension."""
    return _reduced(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


def _read_lengths(input_lengths: Tensor, target_lengths: Tensor) -> tuple[Size, Size]:
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths._dtype.numpy.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
    read = []
    for lengths in (input_lengths, target_lengths):
        there = in_format(ops.to_device.call(lengths, Device("cpu"), int64, False, False, None))
        read.append(tuple(there._array.reshape(-1).tolist()))
    return read[0], read[1]


def _reduced(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    """The loss of each sequence, reduced (``ctc_loss_impl``)."""
    batched = len(log_probs._size) == 3
    if not batched:
        log_probs = ops.unsqueeze.call(log_probs, 1)
    targets = ops.to_device.call(targets, log_probs._device, int64, False, False, None)
    operator = ops._ctc_loss_Tensor if isinstance(target_lengths, Tensor) else ops._ctc_loss
    loss = operator.call(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        zero = ops.zeros.call((), loss._dtype, "strided", loss._device, None)
        loss = ops.where_self.call(ops.eq_Scalar.call(loss, float("inf")), zero, loss)
    if reduction == MEAN:
        return ops.mean.call(ops.div_Tensor.call(loss, _at_least_one(target_lengths, loss)), None)
    if reduction == SUM:
        return ops.sum.call(loss, None)
    return loss if batched else ops.squeeze_dim.call(loss, 0)


def _at_least_one(lengths: Any, like: Tensor) -> Tensor:
    if not isinstance(lengths, Tensor):
        made = ops.empty_memory_format.call((len(lengths),), like._dtype, "strided", like._device, None, None)
        if made._array is not None:
            made._array[...] = array_module(like._device.type).asarray(lengths)
        lengths = made
    return ops.clamp_min.call(lengths, 1)


# -- the loss ----------------------------------------------------------------------------------------------------------


def ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, zero_infinity: bool
) -> tuple[Tensor, Tensor]:
    """``_ctc_loss`` with lengths as tensors, which are read."""
    lengths = _read_lengths(input_lengths, target_lengths)
    return ops._ctc_loss.call(log_probs, targets, *lengths, blank, zero_infinity)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Size, target_lengths: Size, blank: int, zero_infinity: bool
) -> tuple[Tensor, Tensor]:
    """The negative log probability of each target, and alpha.

    Raise RuntimeError for lengths and shapes that do not fit.
    """
    if log_probs._dtype.name not in ("float32", "float64"):
        raise not_implemented("ctc_loss_cpu", log_probs._dtype)
    if not numel(log_probs._size):
        raise RuntimeError("log_probs tensor must not be empty")
    loss, log_alpha = _outputs(log_probs, targets, input_lengths, target_lengths, blank)
    probs = ops.permute.call(log_probs, (1, 0, 2))._array
    ops.fill__Scalar.call(ops.narrow.call(log_alpha, 1, 0, 1), float("-inf"))
    xp: Any = array_module(log_probs._device.type)
    for b, labels in enumerate(_labels(targets, target_lengths)):
        states = _with_blanks(xp, labels, blank)
        of_batch = probs[b, : input_lengths[b], states].T, log_alpha._array[b, : input_lengths[b], : states.size]
        loss._array[b] = quiet.run(_forward, xp, *of_batch, _skips(states))
    return loss, log_alpha


def ctc_loss_meta(
    log_probs: Tensor, targets: Tensor, input_lengths: Size, target_lengths: Size, blank: int, zero_infinity: bool
) -> tuple[Tensor, Tensor]:
    """The outputs of ``_ctc_loss`` on the meta device."""
    if log_probs._dtype.name not in ("float32", "float64"):
        raise not_implemented("ctc_loss_meta", log_probs._dtype)
    return _outputs(log_probs, targets, input_lengths, target_lengths, blank)


def _outputs(
    log_probs: Tensor, targets: Tensor, input_lengths: Size, target_lengths: Size, blank: int
) -> tuple[Tensor, Tensor]:
    """Check the arguments and allocate the outputs (``ctc_loss_allocate_outputs``)."""
    kind = int64 if targets._dtype is int64 else int32
    check_scalar_types(WHERE, TensorArg(targets, "targets", 2), kind)
    check_dim(WHERE, TensorArg(log_probs, "log_probs", 1), 3)
    check_dim_range(WHERE, TensorArg(targets, "targets", 2), 1, 3)
    time, batch, labels = log_probs._size
    if not 0 <= blank < labels:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    _check_least("target_lengths", target_lengths)
    longest = max(target_lengths, default=0)
    _check_targets(targets, target_lengths, batch, longest)
    for length in input_lengths:
        _check_least("input_lengths", (length,))
        if length > time:
            raise argument_error(WHERE, f"Expected input_lengths to have value at most {time}, but got value {length}")

    def empty(size: Size) -> Tensor:
        return ops.empty_memory_format.call(size, log_probs._dtype, "strided", log_probs._device, None, None)

    log_alpha = empty((batch, time, 2 * longest + 1))
    return empty((batch,)), log_alpha


def _check_least(name: str, lengths: Size) -> None:
    for length in lengths:
        if length < 0:
            raise argument_error(WHERE, f"Expected {name} to have value at least 0, but got value {length}")


def _check_targets(targets: Tensor, lengths: Size, batch: int, longest: int) -> None:
    given = TensorArg(targets, "targets", 2)
    if len(targets._size) == 1:
        return check_size(WHERE, given, 0, sum(lengths))
    check_size(WHERE, given, 0, batch)
    if targets._size[1] < longest:
        raise argument_error(
            WHERE,
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets._size[1]} for "
            f"{given}",
        )
    return None


# -- states ------------------------------------------------------------------------------------------------------------


def _labels(targets: Tensor, lengths: Size) -> list[Any]:
    """The labels of each sequence."""
    if len(targets._size) == 2:
        return [targets._array[b, :length] for b, length in enumerate(lengths)]
    ends = [sum(lengths[: b + 1]) for b in range(len(lengths))]
    return [targets._array[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _with_blanks(xp: Any, labels: Any, blank: int) -> Any:
    states = xp.full(2 * labels.size + 1, blank, "int64")
    states[1::2] = labels
    return states


def _skips(states: Any) -> Any:
    """A mask of the states from the third on that may follow the state two before them: the labels differ."""
    return states[2:] != states[:-2]


def _log_sum(xp: Any, step: Any, skips: Any) -> Any:
    """The log of the sum of each state's probability with that of the state before it and, if allowed, of the one
    before that.
    """
    never = xp.full(2, -xp.inf, step.dtype)
    one, two = xp.concatenate((never[:1], step[:-1])), xp.concatenate((never, xp.where(skips, step[:-2], -xp.inf)))
    most = xp.maximum(xp.maximum(step, one), two[: step.size])
    most = xp.where(most == -xp.inf, 0, most)
    return _log(xp, _exp(xp, step - most) + _exp(xp, one - most) + _exp(xp, two[: step.size] - most)) + most


def _exp(xp: Any, values: Any) -> Any:
    return xp.exp(values.astype("float64")).astype(values.dtype)


def _log(xp: Any, values: Any) -> Any:
    return xp.log(values.astype("float64")).astype(values.dtype)


def _forward(xp: Any, probs: Any, alpha: Any, skips: Any) -> Any:
    """Fill alpha; ``probs`` holds the log probability of each time and state."""
    time, states = alpha.shape
    if not time:
        return float("inf") if states > 1 else -0.0
    alpha[0, :2] = probs[0, :2]
    for t in range(1, time):
        alpha[t] = _log_sum(xp, alpha[t - 1], skips) + probs[t]
    last = alpha[-1, -2:]
    most = last.max()
    most = xp.where(most == -xp.inf, last.dtype.type(0), most)
    return -alpha[-1, 0] if states == 1 else -(_log(xp, _exp(xp, last - most).sum()) + most)


# -- backward ----------------------------------------------------------------------------------------------------------


def ctc_loss_backward_tensor(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """``_ctc_loss_backward`` with lengths as tensors, which are read."""
    lengths = _read_lengths(input_lengths, target_lengths)
    kept = (neg_log_likelihood, log_alpha)
    return ops._ctc_loss_backward.call(grad, log_probs, targets, *lengths, *kept, blank, zero_infinity)


def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Size,
    target_lengths: Size,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """The gradient of log_probs: 0 after a sequence's end, and with ``zero_infinity`` where its loss is infinite."""
    if log_probs._dtype.name not in ("float32", "float64"):
        raise not_implemented("ctc_loss_backward_cpu", log_probs._dtype)
    result = ops.full_like.call(log_probs, float("-inf"), None, None, None, None, "contiguous_format")
    ops.empty_like.call(log_alpha, None, None, None, None, "contiguous_format")  # beta
    probs = ops.permute.call(log_probs, (1, 0, 2))._array
    grads = ops.permute.call(result, (1, 0, 2))._array
    grads[...] = 0
    xp: Any = array_module(log_probs._device.type)
    for b, labels in enumerate(_labels(targets, target_lengths)):
        loss, length = neg_log_likelihood._array[b], input_lengths[b]
        if length and not (zero_infinity and bool(loss == xp.inf)):
            states = _with_blanks(xp, labels, blank)
            alpha = log_alpha._array[b, :length, : states.size]
            grads[b, :length] = (
                quiet.run(_gradient_of_log_probs, xp, probs[b, :length], states, alpha, loss) * grad._array[b]
            )
    return result


def _gradient_of_log_probs(xp: Any, probs: Any, states: Any, alpha: Any, loss: Any) -> Any:
    """The gradient by time and label: the probability minus the share of the alignments that use the label at that
    time.
    """
    through = alpha + _backward(xp, probs[:, states], _skips(states[::-1]))
    collected = xp.full(probs.shape, -xp.inf, probs.dtype)
    for s in range(states.size - 1, -1, -1):
        found, more = collected[:, states[s]], through[:, s]
        most = xp.maximum(found, more)
        both = _log(xp, _exp(xp, found - most) + _exp(xp, more - most)) + most
        collected[:, states[s]] = xp.where(found == -xp.inf, more, both)
    return _exp(xp, probs) - _exp(xp, collected + loss - probs)


def _backward(xp: Any, probs: Any, skips: Any) -> Any:
    """The array beta, computed like alpha from the other end."""
    beta = xp.full(probs.shape, -xp.inf, probs.dtype)
    beta[-1, -2:] = probs[-1, -2:]
    for t in range(len(probs) - 2, -1, -1):
        beta[t] = _log_sum(xp, beta[t + 1, ::-1], skips)[::-1] + probs[t]
    return beta

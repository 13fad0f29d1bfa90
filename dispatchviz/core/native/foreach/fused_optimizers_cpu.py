"""``_fused_adam_``, ``_fused_adamw_``, ``_fused_sgd_``, ``_fused_adagrad_`` on the CPU: one call updates a list of
parameters and their states (``aten/src/ATen/native/FusedAdam.cpp``, ``FusedSGD.cpp``, ``FusedAdagrad.cpp``).

As in PyTorch, memory is processed from its first element on and strides are ignored. The arithmetic is in
``fused_optimizer_steps.py``, CUDA's kernels are in ``fused_optimizers_cuda.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_tensors import check_scalar_type
from dispatchviz.core.native.foreach.fused_optimizer_steps import (
    AdagradOptions,
    AdamOptions,
    SgdOptions,
    adagrad_step,
    adam_step,
    in_loops,
    sgd_step,
)
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor, numel, strided

Tensors = Sequence[Tensor]


def check_true(condition: bool, text: str) -> None:
    """Raise RuntimeError unless the condition holds (``TORCH_CHECK`` without a message)."""
    if not condition:
        raise RuntimeError(f"Expected {text} to be true, but got false.  {IMPROVABLE}")


def _check_lengths(params: Tensors, **lists: Tensors) -> None:
    for name, tensors in lists.items():
        check_true(len(tensors) == len(params), f"{name}.size() == n_tensors")


def skips(found_inf: Tensor | None) -> bool:
    """Return whether ``found_inf`` is set, so that the step is skipped."""
    return found_inf is not None and bool(found_inf._array.reshape(-1)[0] == 1)


def scale_of(grad_scale: Tensor | None) -> float | None:
    """The number by which gradients must still be divided, or None."""
    return None if grad_scale is None else float(grad_scale._array.reshape(-1)[0])


def number_of(lr: float | Tensor) -> float:
    """The learning rate as a number; a tensor is read."""
    return _read(lr) if isinstance(lr, Tensor) else lr


def _read(tensor: Tensor) -> float:
    number = ops.item.call(tensor)
    assert not isinstance(number, complex)
    return float(number)


def check_floating(param: Tensor, kernel: str) -> DType:
    """The dtype. Raise NotImplementedError unless it is floating and real."""
    if not param._dtype.is_floating_point:
        raise not_implemented(kernel, param._dtype)
    return param._dtype


def _memory(tensor: Tensor, dtype: DType, length: int) -> Any:
    """The flat memory from the first element on. Raise RuntimeError for another dtype."""
    check_scalar_type(tensor, dtype)
    buffer = tensor._storage.buffer.reshape(-1)
    return strided(buffer.view(dtype.numpy), (length,), (1,), tensor._offset)


def _fused_adam_kernel_cpu_(
    self: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """Take an Adam step. Raise RuntimeError for lists of different lengths and for states of another dtype."""
    options = AdamOptions(number_of(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled=False)
    _adam((self, grads, exp_avgs, exp_avg_sqs), max_exp_avg_sqs, state_steps, options, grad_scale, found_inf)


def _fused_adamw_kernel_cpu_(
    self: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """Take an AdamW step (decoupled weight decay). Raise the same errors as ``_fused_adam_``."""
    options = AdamOptions(number_of(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled=True)
    _adam((self, grads, exp_avgs, exp_avg_sqs), max_exp_avg_sqs, state_steps, options, grad_scale, found_inf)


def _adam(
    lists: tuple[Tensors, ...],
    max_exp_avg_sqs: Tensors,
    steps: Tensors,
    options: AdamOptions,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    if skips(found_inf):
        return
    params, grads, means, squares = lists
    _check_lengths(params, grads=grads, exp_avgs=means, exp_avg_sqs=squares)
    if options.amsgrad:
        _check_lengths(params, max_exp_avg_sqs=max_exp_avg_sqs)
    else:
        check_true(not max_exp_avg_sqs, "max_exp_avg_sqs.empty()")
    _check_lengths(params, state_steps=steps)
    rows = zip(params, means, squares, *([max_exp_avg_sqs] if options.amsgrad else []), strict=True)
    for row, grad, step in zip(rows, grads, steps, strict=True):
        as_contiguous(grad)
        dtype = check_floating(row[0], "fused_adam_kernel")
        count = _read(step)
        param, *states = (_memory(tensor, dtype, numel(row[0]._size)) for tensor in row)
        arrays = [param, _memory(grad, dtype, numel(row[0]._size)), *states]
        quiet.run(in_loops, adam_step, dtype, arrays, options, count, scale_of(grad_scale))


def _fused_sgd_kernel_cpu_(
    self: Tensors,
    grads: Tensors,
    momentum_buffer_list: Tensors,
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """Take an SGD step. Raise RuntimeError for lists of different lengths and for buffers of another dtype."""
    options = SgdOptions(weight_decay, momentum, number_of(lr), dampening, nesterov, maximize, is_first_step)
    if skips(found_inf):
        return
    _check_lengths(self, grads=grads)
    if momentum == 0:
        check_true(not momentum_buffer_list, "momentum_buffer_list.empty()")
    else:
        _check_lengths(self, momentum_buffer_list=momentum_buffer_list)
    lists = [self, grads, *([momentum_buffer_list] if momentum != 0 else [])]
    for row in zip(*lists, strict=True):
        as_contiguous(row[1])
        dtype = check_floating(row[0], "fused_sgd_kernel")
        arrays = [_memory(tensor, dtype, numel(row[0]._size)) for tensor in row]
        quiet.run(in_loops, sgd_step, dtype, arrays, options, scale_of(grad_scale))


def _fused_adagrad_kernel_cpu_(
    self: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    lr: float | Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """Take an Adagrad step. Raise RuntimeError for lists of different lengths and for sums of another dtype."""
    options = AdagradOptions(number_of(lr), lr_decay, weight_decay, eps, maximize)
    if skips(found_inf):
        return
    _check_lengths(self, grads=grads, state_sums=state_sums, state_steps=state_steps)
    for *row, step in zip(self, grads, state_sums, state_steps, strict=True):
        as_contiguous(row[1])
        dtype = check_floating(row[0], "fused_adagrad_kernel")
        arrays = [_memory(tensor, dtype, numel(row[0]._size)) for tensor in row]
        count = _read(step)
        quiet.run(in_loops, adagrad_step, dtype, arrays, options, count, scale_of(grad_scale))

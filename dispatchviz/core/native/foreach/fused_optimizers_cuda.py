"""``_fused_adam_``, ``_fused_adamw_``, ``_fused_sgd_``, ``_fused_adagrad_`` on CUDA: one kernel for a whole list
(``aten/src/ATen/native/cuda/Fused*Kernel.cu``).

Numbers are float64 there. Each statement is computed in float64 and rounded to the dtype of the parameter, or to
float32 for half and bfloat16. NB: the kernels follow PyTorch's sources and were not measured on a GPU.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.foreach.foreach_cuda import can_use_fast_route
from dispatchviz.core.native.foreach.fused_optimizer_steps import AdagradOptions, AdamOptions, SgdOptions
from dispatchviz.core.native.foreach.fused_optimizers_cpu import (
    Tensors,
    check_floating,
    check_true,
    number_of,
    scale_of,
    skips,
)
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, quiet, store
from dispatchviz.core.tensor.tensor import Tensor

Results = list[tuple[Tensor, Any]]
"""Pairs of a tensor and the values to write into it."""

_ALIKE = "must have same dtype, device, and layout"


def _rate(lr: float | Tensor) -> float:
    """The learning rate as a number. On the CPU it is read before the kernel starts, on the GPU by the kernel."""
    return float(lr._array) if isinstance(lr, Tensor) and lr._device.type != "cpu" else number_of(lr)


def _fused_adam_kernel_cuda_(
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
    """Take an Adam step. Raise RuntimeError for lists of different dtypes, devices or layouts."""
    options = AdamOptions(_rate(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled=False)
    _adam((self, grads, exp_avgs, exp_avg_sqs), max_exp_avg_sqs, state_steps, options, grad_scale, found_inf)


def _fused_adamw_kernel_cuda_(
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
    options = AdamOptions(_rate(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled=True)
    _adam((self, grads, exp_avgs, exp_avg_sqs), max_exp_avg_sqs, state_steps, options, grad_scale, found_inf)


def _adam(
    lists: tuple[Tensors, ...],
    max_exp_avg_sqs: Tensors,
    steps: Tensors,
    options: AdamOptions,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    if options.amsgrad:
        lists = (*lists, max_exp_avg_sqs)
    names = "exp_avg_sqs, and max_exp_avg_sqs" if options.amsgrad else "and exp_avg_sqs"
    if not can_use_fast_route(*lists):
        raise RuntimeError(f"params, grads, exp_avgs, {names} {_ALIKE}")
    check_floating(lists[0][0], "fused_adam_kernel_cuda")
    if skips(found_inf):
        return
    for row, step in zip(zip(*lists, strict=True), steps, strict=True):
        _write(quiet.run(_adam_step, row, options, float(step._array), scale_of(grad_scale)))


def _wide(tensor: Tensor) -> Any:
    return tensor._array.astype("float64")


def _rounded(values: Any, like: Tensor) -> Any:
    """Values rounded to the dtype in which elements are computed, as float64."""
    return values.astype(accumulated(like._dtype).numpy).astype("float64")


def _write(results: Results) -> None:
    for tensor, values in results:
        store(tensor, values)


def _gradient(param: Tensor, grad: Tensor, scale: float | None, decay: float, maximize: bool) -> tuple[Any, Any]:
    """The unscaled gradient, and the gradient for the step."""
    kept = _wide(grad) if scale is None else _rounded(_wide(grad) / scale, grad)
    found = -kept if maximize else kept
    return kept, _rounded(found + _wide(param) * decay, param) if decay != 0 else found


def _adam_step(row: tuple[Tensor, ...], options: AdamOptions, step: float, scale: float | None) -> Results:
    param, grad, mean, square, *max_exp_avg_sqs = row
    xp = array_module(param._device.type)
    kept, found = _gradient(param, grad, scale, 0.0 if options.decoupled else options.weight_decay, options.maximize)
    value = _wide(param)
    if options.decoupled and options.weight_decay != 0:
        value = _rounded(value - options.lr * options.weight_decay * value, param)
    means = _rounded(options.beta1 * _wide(mean) + (1 - options.beta1) * found, param)
    squares = _rounded(options.beta2 * _wide(square) + (1 - options.beta2) * found * found, param)
    results = [(grad, kept), (mean, means), (square, squares)]
    if options.amsgrad:
        squares = xp.maximum(_wide(max_exp_avg_sqs[0]), squares)
        results.append((max_exp_avg_sqs[0], squares))
    number = accumulated(param._dtype).numpy.type
    size = float(number(options.lr / float(number(1 - options.beta1**step))))
    root = float(xp.sqrt(number(1 - options.beta2**step)))
    below = _rounded(_rounded(_rounded(xp.sqrt(squares), param) / root, param) + options.eps, param)
    return [*results, (param, value - _rounded(_rounded(size * means, param) / below, param))]


def _fused_sgd_kernel_cuda_(
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
    """Take an SGD step. Raise RuntimeError for lists of different dtypes, devices or layouts."""
    options = SgdOptions(weight_decay, momentum, _rate(lr), dampening, nesterov, maximize, is_first_step)
    lists = [self, grads, *([momentum_buffer_list] if momentum_buffer_list else [])]
    names = "params, grads, momentum_buffer_list" if momentum_buffer_list else "params, grads"
    check_true(can_use_fast_route(*lists), f"at::native::check_fast_path_restrictions({{{names}}})")
    check_floating(self[0], f"fused_sgd_{'with_momentum_' if momentum_buffer_list else ''}kernel_cuda")
    if skips(found_inf):
        return
    for row in zip(*lists, strict=True):
        _write(quiet.run(_sgd_step, row, options, scale_of(grad_scale)))


def _sgd_step(row: tuple[Tensor, ...], options: SgdOptions, scale: float | None) -> Results:
    param, grad, *buffers = row
    kept, found = _gradient(param, grad, scale, options.weight_decay, options.maximize)
    results = [(grad, kept)]
    if buffers:
        momentum_buffer = options.momentum * _wide(buffers[0]) + (1 - options.dampening) * found
        buffer = found if options.is_first_step else _rounded(momentum_buffer, param)
        results.append((buffers[0], buffer))
        found = _rounded(found + options.momentum * buffer, param) if options.nesterov else buffer
    return [*results, (param, _wide(param) - options.lr * found)]


def _fused_adagrad_kernel_cuda_(
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
    """Take an Adagrad step. Raise RuntimeError for lists of different dtypes, devices or layouts."""
    options = AdagradOptions(_rate(lr), lr_decay, weight_decay, eps, maximize)
    if not can_use_fast_route(self, grads, state_sums):
        raise RuntimeError(f"params, grads, and state_sums {_ALIKE}")
    check_floating(self[0], "fused_adagrad_kernel_cuda")
    if skips(found_inf):
        return
    for *row, step in zip(self, grads, state_sums, state_steps, strict=True):
        _write(quiet.run(_adagrad_step, row, options, float(step._array), scale_of(grad_scale)))


def _adagrad_step(row: list[Tensor], options: AdagradOptions, step: float, scale: float | None) -> Results:
    param, grad, total = row
    kept, found = _gradient(param, grad, scale, options.weight_decay, options.maximize)
    sums = _rounded(_wide(total) + found * found, param)
    rate = options.lr / (1 + (step - 1) * options.lr_decay)
    below = _rounded(array_module(param._device.type).sqrt(sums), param) + options.eps
    return [(grad, kept), (total, sums), (param, _wide(param) - rate * found / below)]

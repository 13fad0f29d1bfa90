"""Averages of models (``torch/optim/swa_utils.py``): ``AveragedModel``, ``SWALR``, ``update_bn``."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.optim.lr_scheduler_base import LRScheduler
from dispatchviz.torch.optim.lr_scheduler_cyclic import format_param
from dispatchviz.torch.optim.updates import grouped

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

_FOREACH_DEVICES = ("cuda",)


# -- ways to average ---------------------------------------------------------------------------------------------------


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _without_nodes(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        with torch.no_grad():
            return function(*args)

    return wrapper


def _continuous(tensor: Any) -> bool:
    return bool(torch.is_floating_point(tensor) or torch.is_complex(tensor))


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Return a function that updates an exponential average of lists in place. Raise ValueError for a decay outside 0
    to 1.
    """
    _check_decay(decay)

    @_without_nodes
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        if _continuous(ema_param_list[0]):
            torch._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
            return
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """Return a function that updates the running mean of lists in place."""

    @_without_nodes
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        if _continuous(averaged_param_list[0]):
            torch._foreach_lerp_(averaged_param_list, current_param_list, 1 / (num_averaged + 1))
            return
        diffs = torch._foreach_sub(current_param_list, averaged_param_list)
        if isinstance(num_averaged, torch.Tensor):
            counts = [num_averaged + 1] * len(averaged_param_list)
            torch._foreach_addcdiv_(averaged_param_list, diffs, counts)
        else:
            torch._foreach_add_(averaged_param_list, diffs, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Return a function that computes an exponential average. Raise ValueError for a decay outside 0 to 1."""
    _check_decay(decay)

    @_without_nodes
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """Return a function that computes the running mean."""

    @_without_nodes
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


# -- models ------------------------------------------------------------------------------------------------------------


class AveragedModel(Module):
    """A copy of a model whose parameters are averages. Raise AssertionError for two ways of averaging."""

    def __init__(
        self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None, use_buffers: bool = False
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the averaged copy."""
        return self.module(*args, **kwargs)

    def _pairs(self, model: Any) -> Iterable[tuple[Any, Any]]:
        if not self.use_buffers:
            return zip(self.parameters(), model.parameters(), strict=False)
        own = itertools.chain(self.module.parameters(), self.module.buffers())
        return zip(own, itertools.chain(model.parameters(), model.buffers()), strict=False)

    def update_parameters(self, model: Any) -> None:
        """Update the average by the model's parameters, which are copied the first time."""
        averages: list[Any] = []
        current: list[Any] = []
        first = bool(self.n_averaged == 0)
        for average, parameter in self._pairs(model):
            moved = parameter.detach().to(average.device)
            averages.append(average.detach())
            current.append(moved)
            if first:
                average.detach().copy_(moved)
        if self.n_averaged > 0:
            self._average(averages, current)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach().to(own.device))
        self.n_averaged += 1

    def _average(self, averages: list[Any], current: list[Any]) -> None:
        if self.multi_avg_fn is None and self.avg_fn is not None:
            for average, parameter in zip(averages, current, strict=True):
                count = self.n_averaged.to(average.device)
                average.detach().copy_(self.avg_fn(average.detach(), parameter, count))
            return
        for (own, others), _ in grouped(averages, current):
            device = own[0].device
            if self.multi_avg_fn:
                self.multi_avg_fn(own, others, self.n_averaged.to(device))
            elif device.type in _FOREACH_DEVICES:
                get_swa_multi_avg_fn()(own, others, self.n_averaged.to(device))
            else:
                count = self.n_averaged.to(device)
                for average, parameter in zip(own, others, strict=True):
                    average.copy_(get_swa_avg_fn()(average, parameter, count))


def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """Recompute the means and variances of batch normalization over all batches of a loader."""
    with torch.no_grad():
        momenta = {}
        for module in model.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.reset_running_stats()
                momenta[module] = module.momentum
        if not momenta:
            return
        was_training = model.training
        model.train()
        for module in momenta:
            module.momentum = None
        for batch in loader:
            input = batch[0] if isinstance(batch, list | tuple) else batch
            model(input if device is None else input.to(device))
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


# -- rates -------------------------------------------------------------------------------------------------------------


class SWALR(LRScheduler):
    """Anneal the rates to a constant one. Raise ValueError for an unknown strategy and for negative epochs."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        for group, rate in zip(optimizer.param_groups, format_param("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _alpha(self, step: int) -> float:
        """Return the annealing factor, from 0 to 1."""
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Any]:
        """Return the rates of all groups. Warn outside of a step."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._alpha(step - 1), self._alpha(step)
        groups = self.optimizer.param_groups
        first = [self._get_initial_lr(group["lr"], group["swa_lr"], before) for group in groups]
        return [group["swa_lr"] * now + lr * (1 - now) for group, lr in zip(groups, first, strict=True)]

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer and the annealing function."""
        return {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state."""
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)

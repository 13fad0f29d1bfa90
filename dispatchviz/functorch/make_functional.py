"""Modules as functions of their parameters (``torch/_functorch/make_functional.py``)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import dispatchviz.torch as torch

_nn: Any = torch.nn


class FunctionalModuleWithBuffers(_nn.Module):  # type: ignore[misc]
    """A module as a function of parameters, buffers and the module's own arguments."""

    def __init__(
        self, stateless_model: Any, names: Sequence[str], buffers: Sequence[str], names_map: dict[str, list[str]]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(names), tuple(buffers)
        self.all_names_map = names_map

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the module's result with these parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return torch.func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(_nn.Module):  # type: ignore[misc]
    """A module as a function of parameters and the module's own arguments."""

    def __init__(self, stateless_model: Any, names: Sequence[str], names_map: dict[str, list[str]]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(names)
        self.names_map = names_map

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the module's result with these parameters."""
        state = dict(zip(self.param_names, params, strict=True))
        return torch.func.functional_call(self.stateless_model, state, args, kwargs)


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """Return the module as a function, and its parameters. Raise RuntimeError for a module with buffers."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    stateless, state, names = _without_state(model)
    _track(state, disable_autograd_tracking)
    return FunctionalModule(stateless, tuple(state), names), tuple(state.values())


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Return the module as a function, its parameters and its buffers."""
    parameters = {name for name, _ in model.named_parameters()}
    stateless, state, names = _without_state(model)
    own = {name: value for name, value in state.items() if name in parameters}
    buffers = {name: value for name, value in state.items() if name not in parameters}
    _track(own, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(stateless, tuple(own), tuple(buffers), names)
    return function, tuple(own.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Return one function, and the stacked parameters and buffers of all models. Raise RuntimeError if the models
    differ.
    """
    where = "combine_state_for_ensemble"
    if not models:
        raise RuntimeError(f"{where}: Expected at least one model, got 0.")
    if not (all(one.training for one in models) or not any(one.training for one in models)):
        raise RuntimeError(f"{where}: Expected all models to have the same training/eval mode.")
    if not all(type(one) is type(models[0]) for one in models):
        raise RuntimeError(f"{where}: Expected all models to be of the same class.")
    functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = [tuple(torch.stack(each).detach() for each in zip(*all_of, strict=True)) for all_of in (params, buffers)]
    return functions[0], stacked[0], stacked[1]


def _without_state(model: Any) -> tuple[Any, dict[str, Any], dict[str, list[str]]]:
    """Return a copy whose parameters and buffers have no memory, the original ones, and all names of each."""
    stateless = copy.deepcopy(model)
    every = [*stateless.named_parameters(remove_duplicate=False), *stateless.named_buffers(remove_duplicate=False)]
    state: dict[str, Any] = {}
    names: dict[str, list[str]] = {}
    first: dict[int, str] = {}
    for name, value in every:
        shown = first.setdefault(id(value), name)
        state.setdefault(shown, value)
        names.setdefault(shown, []).append(name)
    for shown, value in state.items():
        meta = torch.empty_like(value, device="meta")
        empty = _nn.Parameter(meta, value.requires_grad) if isinstance(value, _nn.Parameter) else meta
        for name in names[shown]:
            owner, _, own = name.rpartition(".")
            setattr(stateless.get_submodule(owner), own, empty)
    return stateless, state, names


def _track(state: dict[str, Any], disable: bool) -> None:
    if disable:
        for value in state.values():
            value.requires_grad_(False)

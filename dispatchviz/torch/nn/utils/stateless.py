"""``functional_call``: call a module with other parameters and buffers (``torch/nn/utils/stateless.py``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dispatchviz.torch._namespace import torch

_MISSING = object()


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Run ``module(*args)`` with these tensors in place of its own.

    Raise ValueError for two values of one tied tensor; with ``strict``, RuntimeError for missing or unknown names.
    """
    if isinstance(module, torch.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*given, **(kwargs or {}))


_functional_call = functional_call


@contextmanager
def _reparametrize_module(
    module: Any,
    parameters_and_buffers: Mapping[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
) -> Iterator[None]:
    """Exchange the tensors of a module for a block. Tensors replaced inside the block are stored in the mapping."""
    given = _with_tied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_names(module, given)
    before = {name: _swapped(module, name, tensor) for name, tensor in given.items()}
    try:
        yield
    finally:
        after = {name: _swapped(module, name, tensor) for name, tensor in before.items()}
        if isinstance(parameters_and_buffers, dict):
            parameters_and_buffers.update({name: after[name] for name in parameters_and_buffers if name in after})


def _swapped(module: Any, path: str, tensor: Any) -> Any:
    """Replace a tensor and return the previous one. Raise AttributeError for a missing module, TypeError for anything
    but a tensor.
    """
    owner, name = _owner(module, path)
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for members in (owner._parameters, owner._buffers):
        if name in members:
            before = members[name]
            if tensor is _MISSING:
                del members[name]
            else:
                members[name] = tensor
            return before
    before = getattr(owner, name, _MISSING)
    if before is not _MISSING and before is not None and not isinstance(before, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(owner, name, tensor)
    elif before is not _MISSING:
        delattr(owner, name)
    return before


def _owner(module: Any, path: str) -> tuple[Any, str]:
    *parts, name = path.split(".")
    for part in parts:
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"submodule `{part}`: {module} is not an instance of torch.nn.Module")
    return module, name


def _members(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied(module: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give all names of a tied tensor the value that one of them was given."""
    names: dict[int, list[str]] = {}
    for name, tensor in _members(module).items():
        names.setdefault(id(tensor), []).append(name)
    untied = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if len(tied) == 1 or not values:
            continue
        if any(value is not values[0] for value in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        untied.update(dict.fromkeys(tied, values[0]))
    return untied


def _check_names(module: Any, given: Mapping[str, Any]) -> None:
    own = _members(module)
    missing, unexpected = [name for name in own if name not in given], [name for name in given if name not in own]
    if not missing and not unexpected:
        return
    message = f"Error(s) in reparametrizing for {module._get_name()}:"
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        if names:
            message += f"\n\t{kind} key(s): " + ", ".join(f"'{name}'" for name in names) + "."
    raise RuntimeError(message)

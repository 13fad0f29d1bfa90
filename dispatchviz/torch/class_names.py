"""PyTorch's ``__module__`` for the model's classes, for their repr: ``<class 'torch.dtype'>``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

from dispatchviz.torch import grad_modes, nn, optim, type_info
from dispatchviz.torch._lazy_modules import ATTRIBUTES, is_unloaded
from dispatchviz.torch.amp import autocast_mode
from dispatchviz.torch.autograd import anomaly_mode, function, graph, graph_node, saved_tensors_hooks
from dispatchviz.torch.autograd.variable import Variable, VariableMeta
from dispatchviz.torch.cuda import streams

_MODULES: dict[ModuleType, str] = {
    grad_modes: "torch.autograd.grad_mode",
    autocast_mode: "torch.amp.autocast_mode",
    anomaly_mode: "torch.autograd.anomaly_mode",
    function: "torch.autograd.function",
    graph: "torch.autograd.graph",
    graph_node: "torch.autograd.graph",
    saved_tensors_hooks: "torch.autograd.graph",
    streams: "torch.cuda.streams",
    type_info: "torch",
}
"""Our module -> the PyTorch module that its classes belong to."""


def install() -> None:
    """Give the loaded classes PyTorch's module names."""
    for ours, theirs in _MODULES.items():
        for value in vars(ours).values():
            if isinstance(value, type) and value.__module__ == ours.__name__:
                value.__module__ = theirs
    for value in (*vars(optim).values(), Variable, VariableMeta, *_loaded_optimizers(), *_classes_of_nn()):
        if isinstance(value, type):
            value.__module__ = value.__module__.removeprefix("dispatchviz.")


def _classes_of_nn() -> Iterator[type]:
    """Yield the classes of ``torch.nn`` that do not name a module of PyTorch themselves, if the package is loaded."""
    if is_unloaded(nn):
        return
    from dispatchviz.torch.nn.attention import bias

    here = (value for value in vars(bias).values() if isinstance(value, type) and value.__module__ == bias.__name__)
    yield from (nn.Parameter, nn.Buffer, *here)


def _loaded_optimizers() -> Iterator[type]:
    """Yield the lazily loaded optimizers that are loaded already."""
    for name, home in ATTRIBUTES[optim.__name__].items():
        module = sys.modules[f"dispatchviz.torch.{home}"]
        if not is_unloaded(module):
            yield getattr(module, name)

"""What classes are called when they are printed: as in PyTorch, ``<class 'torch.dtype'>``."""

from __future__ import annotations

from types import ModuleType

from dispatchviz.torch import grad_modes, nn, optim, type_info
from dispatchviz.torch.amp import autocast_mode
from dispatchviz.torch.autograd import anomaly_mode, function, graph, graph_node, saved_tensors_hooks
from dispatchviz.torch.autograd import variable as variable_module
from dispatchviz.torch.cuda import streams
from dispatchviz.torch.distributions import distribution
from dispatchviz.torch.nn.attention import bias
from dispatchviz.torch.utils.data import dataloader, dataset, sampler

_MODULES: dict[ModuleType, str] = {
    grad_modes: "torch.autograd.grad_mode",
    autocast_mode: "torch.amp.autocast_mode",
    anomaly_mode: "torch.autograd.anomaly_mode",
    function: "torch.autograd.function",
    graph: "torch.autograd.graph",
    graph_node: "torch.autograd.graph",
    saved_tensors_hooks: "torch.autograd.graph",
    variable_module: "torch.autograd.variable",
    streams: "torch.cuda.streams",
    type_info: "torch",
    bias: "torch.nn.attention.bias",
    distribution: "torch.distributions.distribution",
    dataloader: "torch.utils.data.dataloader",
    dataset: "torch.utils.data.dataset",
    sampler: "torch.utils.data.sampler",
}
"""Where PyTorch has the classes of a module of ours."""


def install() -> None:
    """Gives the classes PyTorch's names."""
    for ours, theirs in _MODULES.items():
        for value in vars(ours).values():
            if isinstance(value, type) and value.__module__ == ours.__name__:
                value.__module__ = theirs
    for value in (*vars(optim).values(), nn.Parameter, nn.Buffer):
        if isinstance(value, type):
            value.__module__ = value.__module__.removeprefix("dispatchviz.")

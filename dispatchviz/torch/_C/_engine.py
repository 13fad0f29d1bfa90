"""The engine in Python: ``Variable._execution_engine`` and the queries of ``torch._C`` about the running graph task.

Mirrors ``torch/csrc/autograd/python_engine.cpp``, ``init.cpp`` and parts of ``torch/csrc/Module.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dispatchviz.core.autograd.engine import anomaly_mode, graph_task
from dispatchviz.core.autograd.engine.backward_grad import run_backward
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.autograd.variables.variable import increment_version, is_inference
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread


class ImperativeEngine:
    """The class of the engine, ``torch._C._ImperativeEngine``."""

    run_backward = staticmethod(run_backward)

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Run ``callback`` at the end of the running backward. Raise RuntimeError outside of one."""
        graph_task.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Return False inside a backward that runs only a part of its graph, else True.

        NB: PyTorch also returns False in a backward nested inside one of these.
        """
        task = thread.state.graph_task
        return task is None or not task.exec_info


def _current_graph_task_id() -> int:
    """Return the id of the running graph task, or -1 outside of a backward."""
    return graph_task.current_graph_task_id()


def _current_autograd_node() -> Node | None:
    """Return the Node that is being evaluated, or None."""
    return thread.state.current_node


def _will_engine_execute_node(node: Any) -> bool:
    """Return whether the running backward runs a Node. Raise RuntimeError outside of one, and for anything but a
    Node.
    """
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    task = thread.state.graph_task
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return task.will_execute(node)


def _increment_version(tensors: Iterable[Tensor]) -> None:
    """Increment the version of tensors that were written to without an operator. Raise RuntimeError for anything but
    tensors.
    """
    if recorder.active is not None:
        recorder.active.entered_from_python()
    if not hasattr(type(tensors), "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not is_inference(tensor):
            increment_version(tensor)


def _is_grad_layout_enforcement_enabled() -> bool:
    """Return whether first gradients in this thread must follow the layout contract."""
    return thread.state.grad_layout_enforced


def _set_grad_layout_enforcement_enabled(enabled: Any) -> None:
    """Set whether first gradients in this thread must follow the layout contract. Raise TypeError for anything but a
    bool.
    """
    if not isinstance(enabled, bool):
        found = type(enabled).__name__
        raise TypeError(
            f"set_grad_layout_enforcement_enabled(): argument 'enabled' (position 1) must be bool, not {found}"
        )
    thread.state.grad_layout_enforced = enabled


# -- anomaly mode ------------------------------------------------------------------------------------------------------


def set_anomaly_enabled(*args: Any, **kwargs: Any) -> None:
    """``set_anomaly_enabled(enabled, check_nan=True)``. Raise TypeError for anything but bools."""
    given = {**dict(zip(("enabled", "check_nan"), args, strict=False)), **kwargs}
    if "enabled" not in given:
        raise TypeError('set_anomaly_enabled() missing 1 required positional arguments: "enabled"')
    for position, (name, value) in enumerate(given.items(), 1):
        if name not in ("enabled", "check_nan"):
            raise TypeError(f"set_anomaly_enabled() got an unexpected keyword argument '{name}'")
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, not "
                f"{type(value).__name__}"
            )
    anomaly_mode.set_enabled(given["enabled"], given.get("check_nan", True))


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return anomaly_mode.is_enabled()


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode checks for nan."""
    return anomaly_mode.checks_nan()

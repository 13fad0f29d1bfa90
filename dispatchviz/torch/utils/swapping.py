"""``torch.utils.swap_tensors`` (``torch/utils/__init__.py``, ``torch/csrc/Module.cpp``)."""

from __future__ import annotations

import weakref
from typing import Any

from dispatchviz.core.autograd.variables.variable import try_get_grad_accumulator
from dispatchviz.core.tensor.tensor import Tensor

POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
    "backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
    "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
    "the device/dtype before running forward (or after both forward and backward)."
)


def swap_tensors(t1: Any, t2: Any) -> None:
    """Swap two Python objects: class, attributes, memory, history.

    Raise RuntimeError if there is a weak reference to one. An AccumulateGrad that a graph still holds raises when it
    runs. NB: PyTorch also refuses a tensor that a graph or a view holds otherwise.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    for tensor in (t1, t2):
        node = try_get_grad_accumulator(tensor)
        if node is not None:
            node.register_prehook(_refuse)
    t1.__class__, t2.__class__ = type(t2), type(t1)
    t1.__dict__, t2.__dict__ = vars(t2), vars(t1)
    for name in Tensor.__struct_fields__:
        first, second = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, second)
        setattr(t2, name, first)


def _refuse(grad_outputs: Any) -> None:
    raise RuntimeError(POISONED)

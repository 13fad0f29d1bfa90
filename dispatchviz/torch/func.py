"""``torch.func``: function transforms.

NB: ``linearize`` is missing because it needs PyTorch's tracer (``make_fx``), ``functionalize`` because it needs a layer
that the model does not have.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._functorch.apis import grad as grad
from dispatchviz.torch._functorch.apis import grad_and_value as grad_and_value
from dispatchviz.torch._functorch.apis import vmap as vmap
from dispatchviz.torch._functorch.batch_norm_replacement import (
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from dispatchviz.torch._functorch.eager_transforms import debug_unwrap as debug_unwrap
from dispatchviz.torch._functorch.eager_transforms import vjp as vjp
from dispatchviz.torch._functorch.forward_transforms import jvp as jvp
from dispatchviz.torch._functorch.functional_call import functional_call as functional_call
from dispatchviz.torch._functorch.functional_call import stack_module_state as stack_module_state
from dispatchviz.torch._functorch.jacobians import hessian as hessian
from dispatchviz.torch._functorch.jacobians import jacfwd as jacfwd
from dispatchviz.torch._functorch.jacobians import jacrev as jacrev
from dispatchviz.torch.missing_names import missing

__all__ = [
    "debug_unwrap",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)

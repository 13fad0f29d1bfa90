"""The package ``functorch``: the functions of ``torch.func`` under their older names, with deprecation warnings.

Mirrors ``functorch/__init__.py`` and ``torch/_functorch/deprecated.py``. NB: ``make_fx``, ``functorch.compile``,
``functorch.dim`` and ``functorch.einops`` need parts of PyTorch that the model does not have.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import dispatchviz.torch as torch
from dispatchviz.functorch import make_functional as _make_functional
from dispatchviz.functorch.make_functional import FunctionalModule as FunctionalModule
from dispatchviz.functorch.make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from dispatchviz.torch.missing_names import missing

__version__ = torch.__version__


def _deprecated(name: str, new: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(_TEXT.format(name=name, new=new), FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    called.__module__ = "torch._functorch.deprecated"
    return called


_TEXT = (
    "We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated "
    "as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{new}` instead; see the "
    "PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
    "https://pytorch.org/docs/main/func.migrating.html"
)

vmap = _deprecated("vmap", "torch.vmap", torch.func.vmap)
grad = _deprecated("grad", "torch.func.grad", torch.func.grad)
grad_and_value = _deprecated("grad_and_value", "torch.func.grad_and_value", torch.func.grad_and_value)
vjp = _deprecated("vjp", "torch.func.vjp", torch.func.vjp)
jvp = _deprecated("jvp", "torch.func.jvp", torch.func.jvp)
jacrev = _deprecated("jacrev", "torch.func.jacrev", torch.func.jacrev)
jacfwd = _deprecated("jacfwd", "torch.func.jacfwd", torch.func.jacfwd)
hessian = _deprecated("hessian", "torch.func.hessian", torch.func.hessian)

_CALL, _STACK = "torch.func.functional_call", "torch.func.stack_module_state"
make_functional = _deprecated("make_functional", _CALL, _make_functional.make_functional)
make_functional_with_buffers = _deprecated(
    "make_functional_with_buffers", _CALL, _make_functional.make_functional_with_buffers
)
combine_state_for_ensemble = _deprecated(
    "combine_state_for_ensemble", _STACK, _make_functional.combine_state_for_ensemble
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)

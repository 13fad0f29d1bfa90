"""``LazyModuleMixin``: parameters whose shapes are inferred from the first input (``torch/nn/modules/lazy.py``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import is_lazy


class LazyModuleMixin(Module):
    """A mixin that precedes the module class (``cls_to_become``) that a lazy module becomes at its first call."""

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        kept = ((name, one) for name, one in self._buffers.items() if name not in self._non_persistent_buffers_set)
        for name, one in itertools.chain(self._parameters.items(), kept):
            if one is not None:
                destination[prefix + name] = one if is_lazy(one) or keep_vars else one.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Materialize uninitialized parameters with the shapes that are loaded."""
        for name, own in itertools.chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(own) and not is_lazy(given):
                with torch.no_grad():
                    own.materialize(given.shape)

    def _waiting(self) -> Iterator[Any]:
        return filter(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values()))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Set shapes and initial values from an input. Raise NotImplementedError unless the subclass overrides it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer is uninitialized."""
        return next(self._waiting(), None) is not None

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Infer the parameters before the first call. Raise RuntimeError if something is still uninitialized then."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )

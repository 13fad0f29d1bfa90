"""Parameters that are computed from others (``torch/nn/utils/parametrize.py``).

``register_parametrization(module, "weight", f)`` makes ``module.weight`` a property. Each access runs ``f`` on the
values in ``module.parametrizations.weight``. The module gets a class of its own, ``Parametrized...``. NB: PyTorch also
swaps a subclass of Tensor that wraps others, and keeps opaque objects.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.container import ModuleDict, ModuleList
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """The tensors computed while caching is enabled."""

    depth = 0
    tensors: dict[tuple[int, str], Any]


_Cache.tensors = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor only once inside the block."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.tensors = {}


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _same(
    found: Any, wanted: Any, text: str, named: tuple[str, str], what: tuple[str, ...] = ("dtype", "shape")
) -> None:
    """Raise ValueError if dtype or shape differ; ``named`` are the texts for the tensors before and after."""
    for word in what:
        before, after = getattr(wanted, word), getattr(found, word)
        if before != after:
            lines = [before_or_after.format(word) for before_or_after in named]
            raise ValueError(f"{text.format(word)}\n{lines[0]}: {before}\n{lines[1]}: {after}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor in order, with the tensors that they start from: ``original``, or several
    (``original0``, ``original1``, ...).

    Raise ValueError for parametrizations that change dtype or shape, unless ``unsafe``.
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.shape, original.dtype
        new = self._inverted(original)
        if not isinstance(new, (torch.Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            text = "When `right_inverse` outputs one tensor, it may not change the {}."
            _same(new, original, text, ("original.{}", "right_inverse(original).{}"), ("dtype", "device"))
            with torch.no_grad():
                original.set_(new)
            _register(self, "original", original)
        else:
            self._keep_several(new, original)
        if not unsafe:
            self._check_result(*before)

    def _inverted(self, original: Any) -> Any:
        with torch.no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then it is assumed to be the identity
                        new = module.right_inverse(new)
        return new

    def _keep_several(self, new: Sequence[Any], original: Any) -> None:
        requires_grad = original.requires_grad
        for i, tensor in enumerate(new):
            if not isinstance(tensor, torch.Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            kept: Any = Parameter(tensor, requires_grad) if isinstance(original, Parameter) else tensor
            kept.requires_grad_(requires_grad)
            _register(self, f"original{i}", kept)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        found = self()
        if not isinstance(found, torch.Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        for word, before, after in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {word} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {word}: {before}\nparametrized {word}: {after}"
                )

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that they give ``value``. Raise RuntimeError for a parametrization without inverse."""
        with torch.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, torch.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                _check_dtype(value, self.original, "The tensor", "original")
                self.original.set_(value)
            else:
                self._set_several(value)

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(values)}."
            )
        for i, tensor in enumerate(values):
            if not isinstance(tensor, torch.Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(tensor).__name__}."
                )
            original = getattr(self, f"original{i}")
            _check_dtype(tensor, original, f"Tensor {i}", f"original{i}")
            original.set_(tensor)

    def forward(self) -> Any:
        """Return the tensor."""
        if self.is_tensor:
            result = self[0](self.original)
        else:
            result = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for index in range(1, len(self)):
            result = self[index](result)
        return result


def _check_dtype(found: Any, original: Any, what: str, name: str) -> None:
    if found.dtype != original.dtype:
        raise ValueError(
            f"{what} returned by `right_inverse` has dtype {found.dtype} while `{name}` has dtype {original.dtype}"
        )


def _deep_copied(self: Any, memo: dict[int, Any]) -> Any:
    found = memo.get(id(self))
    if found is not None:
        return found
    memo[id(self)] = replica = self.__new__(type(self))
    replica.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, copy.deepcopy(getattr(self, slot), memo))
    return replica


def _no_state(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _inject_new_class(module: Module) -> None:
    """Give the module a subclass of its own, on which properties can be set."""
    kind: Any = type(module)
    members: dict[str, Any] = {"__getstate__": _no_state}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deep_copied
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _put_property(module: Module, tensor_name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[tensor_name]
        if not _Cache.depth:
            return parametrization()
        key = (id(module), tensor_name)
        if _Cache.tensors.get(key) is None:
            _Cache.tensors[key] = parametrization()
        return _Cache.tensors[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute ``module.tensor_name`` by ``parametrization`` from its original tensor.

    Raise ValueError for a tensor that does not exist, and for another dtype or shape unless ``unsafe``.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _put_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_another(module: Module, tensor_name: str, parametrization: Any) -> None:
    """Check that one more parametrization keeps dtype and shape, and that its inverse does."""
    before = getattr(module, tensor_name)
    after = parametrization(before)
    if not isinstance(after, torch.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    name = f"module.{tensor_name}"
    text = "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled."
    _same(after, before, text, (f"{name}.{{}}", f"parametrization({name}).{{}}"))
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, torch.Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    text = (
        "The tensor returned by parametrization.right_inverse must have the same {} as "
        f"{name}, unless the `unsafe` flag is enabled."
    )
    _same(back, before, text, (f"{name}.{{}}", "returned {}"))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether the module, or one of its tensors, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor an ordinary one again, with the last computed values or the original ones.

    Raise ValueError for a tensor that is not parametrized, and for an original that consists of several tensors.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                value = getattr(module, tensor_name)
            with torch.no_grad():
                original.set_(value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that the module had before."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations and originals to another module."""
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        if hasattr(source, "original"):
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module

"""Objects of the model under PyTorch's names in pickles, for ``torch.save`` and ``torch.load``.

The names are PyTorch's (``torch._utils._rebuild_tensor_v2``, ``torch.FloatStorage``), wherever our functions live, and
whether or not ``torch`` is imported under that name.
"""

from __future__ import annotations

import importlib
import pickle
from collections import Counter, OrderedDict
from collections.abc import Iterator
from types import FunctionType
from typing import Any, ClassVar

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.size import Size
from dispatchviz.torch.storage import LEGACY_CLASSES, TypedStorage, legacy_class

_MODEL = "dispatchviz."


def _name_of(obj: Any) -> tuple[str, str] | None:
    """Return PyTorch's module and name for an object of ours, or None."""
    if isinstance(obj, DType):
        return "torch", obj.name
    if obj in (Device, Size, Tensor):
        return "torch", {Device: "device", Size: "Size", Tensor: "Tensor"}[obj]
    return None


_PythonPickler: Any = pickle._Pickler
"""Python's pickler in Python, because its ``save_global`` can be overridden."""


class Pickler(_PythonPickler):  # type: ignore[misc]
    """Python's pickler with PyTorch's format for tensors."""

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self._keys: dict[int, str] = {}
        self._storages: list[TypedStorage] = []

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the keys and bytes of the pickled storages."""
        for key, storage in enumerate(self._storages):
            yield str(key), storage.untyped()._content()

    def persistent_id(self, obj: Any) -> Any:
        """Return the persistent id of a storage. Raise RuntimeError if it was pickled with another dtype."""
        if not isinstance(obj, TypedStorage):
            return None
        storage = obj.untyped()._storage
        key = self._keys.setdefault(id(storage), str(len(self._keys)))
        if len(self._storages) < len(self._keys):
            self._storages.append(obj)
        elif self._storages[int(key)].dtype is not obj.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        location = "cpu" if obj.device.type == "cpu" else f"cuda:{obj.device.index or 0}"
        return "storage", legacy_class(obj.dtype), key, location, obj.size()

    def reducer_override(self, obj: Any) -> Any:
        """Return the reduce value of devices and sizes."""
        if isinstance(obj, Device):
            return Device, ((obj.type,) if obj.index is None else (obj.type, obj.index))
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Save a global under PyTorch's name, without checking that it can be imported under it."""
        known = _name_of(obj) if isinstance(obj, (type, DType)) else None
        module = getattr(obj, "__module__", None) or ""
        if known is None and module.startswith((_MODEL + "torch", "torch")):
            known = module.removeprefix(_MODEL), obj.__qualname__
        if known is None:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{known[0]}\n{known[1]}\n".encode())
        self.memoize(obj)

    dispatch[FunctionType] = save_global


# -- loading -----------------------------------------------------------------------------------------------------------


def is_torch(module: str) -> bool:
    """Return whether a module is PyTorch's."""
    return module == "torch" or module.startswith("torch.")


def named_global(module: str, name: str) -> Any:
    """Return the model's object for a global of PyTorch. Raise AttributeError or ModuleNotFoundError if there is
    none.
    """
    if module == "torch" and name in LEGACY_CLASSES:
        return LEGACY_CLASSES[name]
    if module.startswith("torch.nn.modules."):  # the model splits some of these modules
        return getattr(torch.nn, name)
    found: Any = importlib.import_module(_MODEL + module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


_REBUILD = (
    *("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_meta_tensor_no_storage"),
    *("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"),
    "torch._tensor._rebuild_from_type_v2",
)
_PLAIN: dict[str, Any] = {"collections.OrderedDict": OrderedDict, "collections.Counter": Counter}
_TORCH = ("torch.Size", "torch.Tensor", "torch.device", "torch.nn.parameter.Parameter")


def allowed_global(module: str, name: str, safe: list[Any]) -> Any:
    """Return a global that ``weights_only`` or the user allows. Raise UnpicklingError for others."""
    full = f"{module}.{name}"
    if full in _PLAIN:
        return _PLAIN[full]
    for known in safe:
        value, alias = known if isinstance(known, tuple) else (known, f"{known.__module__}.{known.__qualname__}")
        if full in (alias, alias.removeprefix(_MODEL)):
            return value
    dtype = module == "torch" and isinstance(getattr(torch, name, None), DType)
    legacy = module == "torch" and name in LEGACY_CLASSES
    if dtype or legacy or full in _TORCH or full in _REBUILD:
        return named_global(module, name)
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context "
        "manager to allowlist this global if you trust this class/function."
    )

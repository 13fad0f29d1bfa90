"""The ``torch`` namespace: ``import dispatchviz.torch as torch`` runs a PyTorch script on the model.

Functions and methods are the generated bindings. The parts of PyTorch that are Python (``torch/_tensor.py``,
``torch/autograd``) are written again in the modules beside this one. A name that the model does not have raises an
AttributeError that says so.
"""

from __future__ import annotations

import builtins
import math
import sys as _sys
from typing import TYPE_CHECKING, Any

from dispatchviz.torch import _garbage_collection as _garbage_collection  # before everything that is created
from dispatchviz.torch import _lazy_modules as _lazy_modules  # before any import of one of them

# isort: split
from dispatchviz.core.bindings import python_bindings_manual as _manual
from dispatchviz.core.bindings.binding import Binding as _Binding
from dispatchviz.core.bindings.default_device import device_or_default as _device_or_default
from dispatchviz.core.bindings.default_device import set_default_device as _set_default_device
from dispatchviz.core.device import device as _device
from dispatchviz.core.generated import python_bindings as _bindings
from dispatchviz.core.generated import return_types as return_types
from dispatchviz.core.native.random.generator import Generator as Generator
from dispatchviz.core.tensor import dtype as _dtype
from dispatchviz.core.tensor.dtype import promote_types as promote_types
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor import numel as _numel
from dispatchviz.core.thread.warning import is_warn_always_enabled as is_warn_always_enabled
from dispatchviz.core.thread.warning import set_warn_always as set_warn_always
from dispatchviz.core.wiring import native_library as _native_library  # noqa: F401  registers every kernel
from dispatchviz.torch import _C as _C
from dispatchviz.torch import _dynamo as _dynamo
from dispatchviz.torch import _inductor as _inductor
from dispatchviz.torch import _lobpcg as _lobpcg
from dispatchviz.torch import _lowrank as _lowrank
from dispatchviz.torch import _tensor_str as _tensor_str
from dispatchviz.torch import accelerator as accelerator
from dispatchviz.torch import amp as amp
from dispatchviz.torch import autocast_functions as _autocast_functions
from dispatchviz.torch import autograd as autograd
from dispatchviz.torch import backends as backends
from dispatchviz.torch import check_functions as _check_functions
from dispatchviz.torch import compiler as compiler
from dispatchviz.torch import cpu as cpu
from dispatchviz.torch import cuda as cuda
from dispatchviz.torch import distributed as distributed
from dispatchviz.torch import distributions as distributions
from dispatchviz.torch import fft as fft
from dispatchviz.torch import formats as _formats
from dispatchviz.torch import func as func
from dispatchviz.torch import functional as functional
from dispatchviz.torch import functionalization as _functionalization
from dispatchviz.torch import fx as fx
from dispatchviz.torch import global_flags as _global_flags
from dispatchviz.torch import hub as hub
from dispatchviz.torch import jit as jit
from dispatchviz.torch import legacy_constructors as _legacy_constructors
from dispatchviz.torch import library as library
from dispatchviz.torch import linalg as linalg
from dispatchviz.torch import masked as masked
from dispatchviz.torch import missing_names as _missing_names
from dispatchviz.torch import nn as nn
from dispatchviz.torch import optim as optim
from dispatchviz.torch import overrides as overrides
from dispatchviz.torch import profiler as profiler
from dispatchviz.torch import python_dispatch_table as _python_dispatch_table  # noqa: F401  chooses for the dispatcher
from dispatchviz.torch import random as random
from dispatchviz.torch import removed_linalg as _removed_linalg
from dispatchviz.torch import serialization as serialization
from dispatchviz.torch import signal as signal
from dispatchviz.torch import special as special
from dispatchviz.torch import split_meshgrid as _split_meshgrid
from dispatchviz.torch import storage as storage
from dispatchviz.torch import symbolic_numbers as _symbolic_numbers
from dispatchviz.torch import testing as testing
from dispatchviz.torch import types as types
from dispatchviz.torch import unique_elements as _unique_elements
from dispatchviz.torch import utils as utils
from dispatchviz.torch import version as version
from dispatchviz.torch._C import DispatchKey as DispatchKey
from dispatchviz.torch._C import DispatchKeySet as DispatchKeySet
from dispatchviz.torch._C._engine import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from dispatchviz.torch._C._engine import is_anomaly_enabled as is_anomaly_enabled
from dispatchviz.torch._C._engine import set_anomaly_enabled as set_anomaly_enabled
from dispatchviz.torch._ops import ops as ops
from dispatchviz.torch._tensor_str import set_printoptions as set_printoptions
from dispatchviz.torch.amp import GradScaler as GradScaler
from dispatchviz.torch.amp import autocast as autocast
from dispatchviz.torch.as_tensor import as_tensor as as_tensor
from dispatchviz.torch.as_tensor import asarray as asarray
from dispatchviz.torch.class_names import install as _install_class_names
from dispatchviz.torch.errors import AcceleratorError as AcceleratorError
from dispatchviz.torch.errors import OutOfMemoryError as OutOfMemoryError
from dispatchviz.torch.grad_modes import enable_grad as enable_grad
from dispatchviz.torch.grad_modes import inference_mode as inference_mode
from dispatchviz.torch.grad_modes import is_grad_enabled as is_grad_enabled
from dispatchviz.torch.grad_modes import is_inference_mode_enabled as is_inference_mode_enabled
from dispatchviz.torch.grad_modes import no_grad as no_grad
from dispatchviz.torch.grad_modes import set_grad_enabled as set_grad_enabled
from dispatchviz.torch.missing_names import missing as _missing
from dispatchviz.torch.random import default_generator as default_generator
from dispatchviz.torch.random import get_rng_state as get_rng_state
from dispatchviz.torch.random import initial_seed as initial_seed
from dispatchviz.torch.random import manual_seed as manual_seed
from dispatchviz.torch.random import seed as seed
from dispatchviz.torch.random import set_rng_state as set_rng_state
from dispatchviz.torch.serialization import load as load
from dispatchviz.torch.serialization import save as save
from dispatchviz.torch.size import Size as Size
from dispatchviz.torch.storage import TypedStorage as TypedStorage
from dispatchviz.torch.storage import UntypedStorage as UntypedStorage
from dispatchviz.torch.tags import Tag as Tag
from dispatchviz.torch.tensor_from_numpy import from_numpy as from_numpy
from dispatchviz.torch.tensor_from_numpy import frombuffer as frombuffer
from dispatchviz.torch.tensor_methods import install as _install
from dispatchviz.torch.tensor_new import tensor as tensor
from dispatchviz.torch.type_info import finfo as finfo
from dispatchviz.torch.type_info import iinfo as iinfo

if TYPE_CHECKING:  # looked up on first use: ``_lazy_modules.ATTRIBUTES``
    from dispatchviz.torch._functorch.apis import vmap as vmap

__version__ = version.__version__

device = _device.Device
dtype = _dtype.DType
globals().update({name: value for name, value in vars(_dtype).items() if isinstance(value, _dtype.DType)})
globals().update({d.name: d for d in _dtype.ALL})
globals().update(_autocast_functions.FUNCTIONS)
globals().update(_check_functions.FUNCTIONS)
half, float, double, cfloat, cdouble = (
    _dtype.float16,
    _dtype.float32,
    _dtype.float64,
    _dtype.complex64,
    _dtype.complex128,
)
short, int, long = _dtype.int16, _dtype.int32, _dtype.int64
globals().update(
    {
        b.__name__: b
        for module in (_bindings, _manual)
        for b in vars(module).values()
        if isinstance(b, _Binding) and not b.is_method
    }
)
globals().update({name: getattr(_formats, name) for name in _formats.__all__})
del globals()["unique_dim"]
_segment_reduce = globals().pop("segment_reduce")
"""PyTorch exposes it under this name only."""
globals().update(_functionalization.NAMES)
globals().update(_legacy_constructors.TYPES)
globals().update(_split_meshgrid.FUNCTIONS)
globals().update(_removed_linalg.FUNCTIONS)
globals().update(_global_flags.FUNCTIONS)
globals().update(_symbolic_numbers.FUNCTIONS)
globals().update(storage.LEGACY_CLASSES)
globals().update(_unique_elements.FUNCTIONS)
globals().update({name: getattr(functional, name) for name in functional.__all__})
lobpcg = _lobpcg.lobpcg
pca_lowrank, svd_lowrank = _lowrank.pca_lowrank, _lowrank.svd_lowrank

_install(Tensor)
_install_class_names()


def numel(input: Tensor) -> builtins.int:
    """Return the number of elements of a tensor. Raise TypeError for anything but a tensor."""
    functional.check_input("numel", input)
    return _numel(input._size)


def can_cast(from_: _dtype.DType, to: _dtype.DType) -> builtins.bool:
    """Return whether a result of one dtype may be written into a tensor of the other."""
    return _dtype.can_cast(from_, to)


def get_device(input: Tensor) -> builtins.int:
    """Return the number of a tensor's CUDA device, or -1 on the CPU."""
    return input.get_device()  # type: ignore[attr-defined,no-any-return]


def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was made in inference mode."""
    return input.is_inference()  # type: ignore[attr-defined,no-any-return]


def is_storage(obj: Any) -> bool:
    """Return whether a value is a storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def is_tensor(value: Any) -> bool:
    """Return whether a value is a Tensor."""
    return isinstance(value, Tensor)


def typename(obj: Any) -> str:
    """Return the type of a value as error messages name it (``torch.FloatTensor`` for tensors)."""
    if isinstance(obj, Tensor):
        return obj.type()  # type: ignore[attr-defined,no-any-return]
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(obj, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


get_default_dtype, set_default_dtype = _dtype.default_dtype, _dtype.set_default_dtype
set_default_device = _set_default_device
set_default_tensor_type = _legacy_constructors.set_default_tensor_type


def get_default_device() -> _device.Device:
    """Return the default device of new tensors."""
    return _device.concrete(_device_or_default(None))


def get_device_module(device: _device.Device | str | None = None) -> Any:
    """Return ``torch.cpu`` or ``torch.cuda``; without an argument, the module of the accelerator. Raise RuntimeError if
    there is none.
    """
    if device is not None and not isinstance(device, (_device.Device, str)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = "cuda" if device is None else _device.Device(device).type
    if name not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'.")
    return globals()[name]


has_mkl = has_lapack = has_openmp = has_spectral = True
"""The values of a PyTorch build for Linux."""


inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None


_HELPERS = (
    *("autocast_functions", "checks", "creation", "default_device", "errors", "formats", "function_schema"),
    *("functionalization", "grad_modes", "indexing", "legacy_constructors", "list_functions", "numpy_memory"),
    *("op_overload", "operator_base", "pickling", "printing", "python_dispatch_table", "python_functions"),
    *(
        "python_keys",
        "removed_functions",
        "shown_names",
        "size",
        "switches",
        "symbolic_numbers",
        "tags",
        "tensor_copies",
        "tensor_kinds",
        "tensor_methods",
    ),
    *("type_info", "unique_elements", "builtins", "math", "annotations", "TYPE_CHECKING"),
)
"""Names in this module that PyTorch's module does not have."""


def __getattr__(name: str) -> Any:
    if name in _lazy_modules.ATTRIBUTES[__name__]:
        return _lazy_modules.attribute_of(_sys.modules[__name__], name)
    import difflib

    from dispatchviz.torch.lacking_names import LACKING_NAMES

    known = [key for key in globals() if not (key.startswith("_") or key in _HELPERS)]
    close = [] if name.startswith("_") or name in LACKING_NAMES else difflib.get_close_matches(name, known, 3, 0.7)
    raise _missing(__name__, name, close)


def __dir__() -> list[str]:
    return _lazy_modules.names_of(_sys.modules[__name__])


_missing_names.install()
_lazy_modules.when_loaded += [_missing_names.install, _install_class_names]
_garbage_collection.restore()

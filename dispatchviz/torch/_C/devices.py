"""``torch._C._dispatch_key_for_device``: the key of a device's dense tensors (``c10/core/DeviceType.cpp``)."""

from __future__ import annotations

from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.device import private_backend
from dispatchviz.core.keys.keys import DispatchKey

_KEYS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "ipu": "IPU",
    "xpu": "XPU",
    "mkldnn": None,
    "opengl": None,
    "opencl": None,
    "ideep": None,
    "hip": "HIP",
    "ve": "VE",
    "fpga": "FPGA",
    "maia": "MAIA",
    "xla": "XLA",
    "lazy": "Lazy",
    "vulkan": "Vulkan",
    "mps": "MPS",
    "meta": "Meta",
    "hpu": "HPU",
    "mtia": "MTIA",
    "privateuseone": "PrivateUse1",
}
"""Device type -> key, in the order in which errors list the types. None for Caffe2's types, which have no key."""

_CAFFE2 = (
    '0 INTERNAL ASSERT FAILED at "c10/core/TensorOptions.h":661, please report a bug to PyTorch. This is a '
    "grandfathered Caffe2 device type {}, it shouldn't ever convert to a DispatchKey.  File a bug describing what you "
    "were doing if you think this is in error."
)


@bound("_dispatch_key_for_device(arg0: str) -> str")
def _dispatch_key_for_device(device: str) -> str:
    if not device:
        raise RuntimeError("Device string must not be empty")
    named, colon, _ = device.partition(":")
    type_ = private_backend.PLAIN if named == private_backend.current() else named
    if type_ not in _KEYS:
        raise RuntimeError(f"Expected one of {', '.join(_KEYS)} device type at start of device string: {type_}")
    if colon:
        raise RuntimeError(f"Expected device_type string to not have a device index; got {device}")
    key = _KEYS[type_]
    if key is None:
        raise RuntimeError(_CAFFE2.format(type_))
    return DispatchKey[key].name


def _get_privateuse1_backend_name() -> str:
    """Return the name of the device type of the key PrivateUse1."""
    return private_backend.current()

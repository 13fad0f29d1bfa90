"""Dispatch keys that are gone or renamed, and their successors.

``key_layouts.json`` says in which releases a name was a key. Second names are in PyTorch 2.14's own
``c10/core/DispatchKey.h``.
"""

from __future__ import annotations

from dispatchviz.explain.keys.key_layouts import layouts, releases_with

RENAMED = {
    "CPUTensorId": "CPU",
    "CUDATensorId": "CUDA",
    "HIPTensorId": "HIP",
    "XLATensorId": "XLA",
    "QuantizedCPUTensorId": "QuantizedCPU",
    "MkldnnCPUTensorId": "MkldnnCPU",
    "SparseCPUTensorId": "SparseCPU",
    "SparseCUDATensorId": "SparseCUDA",
    "SparseHIPTensorId": "SparseHIP",
    "PrivateUse1_TensorId": "PrivateUse1",
    "PrivateUse2_TensorId": "PrivateUse2",
    "PrivateUse3_TensorId": "PrivateUse3",
    "XLAPreAutograd": "AutogradXLA",
    "PrivateUse1_PreAutogradTensorId": "AutogradPrivateUse1",
    "PrivateUse2_PreAutogradTensorId": "AutogradPrivateUse2",
    "PrivateUse3_PreAutogradTensorId": "AutogradPrivateUse3",
    "PrivateUse1_PreAutograd": "AutogradPrivateUse1",
    "PrivateUse2_PreAutograd": "AutogradPrivateUse2",
    "PrivateUse3_PreAutograd": "AutogradPrivateUse3",
    "TESTING_ONLY_GenericWrapperTensorId": "TESTING_ONLY_GenericWrapper",
    "TESTING_ONLY_GenericModeTensorId": "TESTING_ONLY_GenericMode",
    "Math": "CompositeImplicitAutograd",
    "DefaultBackend": "CompositeExplicitAutograd",
    "ORT": "MAIA",
}
"""The key that replaces each old name today."""

STORIES = {
    "CatchAll": (
        "a kernel registered without a key. Today it is stored under CompositeImplicitAutograd. In C++ the name is "
        "still an alias of Undefined"
    ),
    "VariableTensorId": (
        "the one key of autograd, for all backends. Since 1.7 each backend has its own (AutogradCPU, AutogradCUDA, ...)"
    ),
    "Autocast": "the one key of autocast, for CUDA. It is AutocastCUDA now, beside the Autocast keys of other backends",
    "Named": (
        "carried the names of named tensors from operator to operator. Release 2.13 removed named tensors and the key"
    ),
    "Profiler": (
        "the key of the profiler. Profiling is no longer a dispatch key (RecordFunction does it in Dispatcher::call)"
    ),
    "MSNPU": "an accelerator out of tree",
    "MSNPUTensorId": "an accelerator out of tree",
    "MLC": "Apple's ML Compute, the predecessor of MPS",
    "AutogradMLC": "autograd of Apple's ML Compute, the predecessor of AutogradMPS",
    "FuncTorchPython": "an experiment of functorch",
    "MKLDNN": "a device type of Caffe2",
    "MKLDNNTensorId": "a device type of Caffe2",
    "OpenGL": "a device type of Caffe2",
    "OpenGLTensorId": "a device type of Caffe2",
    "OpenCL": "a device type of Caffe2",
    "OpenCLTensorId": "a device type of Caffe2",
    "IDEEP": "a device type of Caffe2",
    "IDEEPTensorId": "a device type of Caffe2",
    "ComplexCPU": "complex tensors, out of tree. Complex is an ordinary dtype now and needs no key",
    "ComplexCPUTensorId": "complex tensors, out of tree. Complex is an ordinary dtype now and needs no key",
    "ComplexCUDA": "complex tensors, out of tree. Complex is an ordinary dtype now and needs no key",
    "ComplexCUDATensorId": "complex tensors, out of tree. Complex is an ordinary dtype now and needs no key",
}
"""The purpose of each key without a successor."""


def past_name(text: str) -> str | None:
    """The name of a former key, properly capitalized; None for other names."""
    return {name.lower(): name for name in (*RENAMED, *STORIES)}.get(text.strip().lower())


def became(text: str) -> str:
    """The fate of an old key, in a sentence without its full stop; empty if the name was never a key."""
    name = past_name(text)
    if name is None:
        return ""
    if name in RENAMED:
        return f"{name}{_time(name)} is called {RENAMED[name]} now"
    return f"{name}{_time(name)} was {STORIES[name]}" if not STORIES[name].startswith("carried") else _named(name)


def _named(name: str) -> str:
    return f"{name}{_time(name)} {STORIES[name]}"


def _time(name: str) -> str:
    """``, a key from 1.6 to 2.12,``; empty for a name that never had its own value."""
    found = releases_with(name)
    if found is None:
        return ""
    first, last = found
    oldest = layouts()[0].span
    if first == last:
        return f", a key in {first}," if first != oldest else f", a key up to {last},"
    return f", a key from {first} to {last}," if first != oldest else f", a key up to {last},"

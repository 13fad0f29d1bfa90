"""The order in which PyTorch's own registrations are made when it is loaded.

A ``TORCH_LIBRARY`` block is a static initializer. Initializers within a file run from top to bottom. C++ promises no
order between two files, and neither does PyTorch (``ATen/core/dispatch/Dispatcher.h``, at ``findDanglingImpls``). A
linked library has a fixed order, though, its ``.init_array``: that of the object files, by folder, then by name. This
module has the order of PyTorch's release: ``libtorch_cpu.so``, then ``libtorch_cuda.so``, which needs the former, then
Python.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CPU = (
    "aten/src/ATen/",
    "aten/src/ATen/functorch/",
    "aten/src/ATen/core/",
    "aten/src/ATen/native/",
    "aten/src/ATen/native/ao_sparse/",
    "aten/src/ATen/native/ao_sparse/quantized/cpu/",
    "aten/src/ATen/native/quantized/cpu/",
    "aten/src/ATen/native/quantized/",
    "aten/src/ATen/native/mkldnn/",
    "build/aten/src/ATen/",
    "torch/csrc/autograd/generated/VariableType_",
    "torch/csrc/autograd/generated/TraceType_",
    "torch/csrc/autograd/generated/ADInplaceOrViewType_",
    "torch/csrc/autograd/record_function_ops",
    "torch/csrc/inductor/inductor_ops",
    "torch/csrc/jit/runtime/static/",
    "torch/csrc/autograd/",
    "torch/csrc/distributed/c10d/",
    "torch/csrc/distributed/c10d/quantization/",
    "torch/csrc/distributed/c10d/symm_mem/",
)
"""Folders, or prefixes of file names in them. The longest prefix that fits a file counts."""

_CUDA = (
    "aten/src/ATen/native/cudnn/",
    "aten/src/ATen/native/quantized/cudnn/",
    "aten/src/ATen/cudnn/",
    "torch/csrc/distributed/c10d/",
    "torch/csrc/distributed/c10d/quantization/",
    "torch/csrc/distributed/c10d/symm_mem/",
    "build/aten/src/ATen/",
    "aten/src/ATen/native/quantized/cuda/",
    "torch/csrc/inductor/",
)

_OF_CUDA = re.compile(r"CUDA_\d|/cudnn/|\.cu$|_gpu\.")
"""A pattern for the paths of files that are linked into the library of CUDA."""

_PYTHON = (
    "torch/export/",
    "torch/_library/",
    "torch/distributed/",
    "torch/_prims/",
    "torch/_refs/",
    "torch/_meta_registrations",
    "torch/library",
    "torch/_native/",
)
"""Modules that ``import torch`` runs after it has loaded the libraries."""

_PLACE = re.compile(r"registered at (?:.*/pytorch/pytorch/)?([^:\s]+)(?::(\d+))?")


class Moment(NamedTuple):
    """A sort key for the time of a registration."""

    library: int
    """0: library of the CPU; 1: library of CUDA; 2: a file of an unknown library; 3: no known place; 4: Python."""
    part: int
    file: str
    line: int


def initialization_order(debug: str) -> Moment:
    """Return the time of a registration as a sort key. ``debug`` is its place, as PyTorch's dumps print it."""
    found = _PLACE.search(debug)
    if found is None:
        return Moment(3, 0, "", 0)
    file, line = found[1], int(found[2] or 0)
    if file.endswith(".py"):
        return Moment(4, _part(_PYTHON, file), file, line)
    of_cuda = _OF_CUDA.search(file) is not None
    part = _part(_CUDA if of_cuda else _CPU, file)
    unknown = part == len(_CUDA if of_cuda else _CPU)
    return Moment(2 if unknown else int(of_cuda), part, file, line)


def _part(parts: tuple[str, ...], file: str) -> int:
    """The index of the longest prefix that fits, or the number of prefixes if none does."""
    fitting = [part for part in parts if file.startswith(part)]
    return parts.index(max(fitting, key=len)) if fitting else len(parts)

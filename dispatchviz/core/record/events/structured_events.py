"""Events of structured kernels: the meta function, the output that it requests, the impl function.

The code is in ``aten/src/ATen/TensorMeta.h`` and ``build/aten/src/ATen/RegisterCPU_*.cpp``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import LineNumber, Size, TensorNumber

StructuredVariant = Literal["functional", "in-place", "out", "default backend"]
"""The source of a structured kernel's output: a new tensor; ``self``; a tensor from the caller; a new tensor, by a call
through the dispatcher (the functional variant for CompositeExplicitAutogradNonFunctional).
"""

SetOutputMethod = Literal["set_output_raw_strided", "set_output_strided", "set_output_contiguous"]
"""Methods of ``at::impl::MetaBase``. The last two request strides that the kernel requires."""


class MetaEntered(Container, frozen=True):
    """A structured kernel's meta function checks its arguments and requests its output. The event is open until it
    returns.

    Operands that an elementwise kernel must cast on the CPU are cast here (``TensorIteratorBase::compute_types``).
    """

    function: str
    """PyTorch's name of it: ``structured_add_Tensor::meta``."""


class OutputAllocated(Event, frozen=True):
    """``set_output`` provided the output that a meta function requested."""

    variant: StructuredVariant
    """The source of the output."""
    tensor: TensorNumber
    """Number of the output."""
    resized: bool
    """True if the given output had another size and was resized (``at::native::resize_output``)."""
    method: SetOutputMethod = "set_output_raw_strided"
    """The method that the meta function called."""
    proxy: TensorNumber | None = None
    """Number of the tensor that the impl writes instead, if the output has other strides than requested
    (``maybe_create_proxy``).
    """
    shape: tuple[Size, ...] = ()
    """The requested sizes; empty also in traces of format 1."""
    dtype: str = ""
    """The requested dtype: ``torch.float32``; empty in traces of format 1."""


class ProxyCopied(Event, frozen=True):
    """The impl has written a proxy; the call of ``copy_`` that follows copies the data into the output."""

    proxy: TensorNumber
    """Number of the proxy."""
    output: TensorNumber
    """Number of the output."""


class ImplEntered(Container, frozen=True):
    """A structured kernel's impl function writes the output. The event is open until it returns."""

    function: str
    """PyTorch's name of it: ``structured_ufunc_add_CUDA::impl``."""
    tensors: tuple[TensorNumber, ...]
    """Numbers of the tensors that it writes: outputs, proxies, or the temporaries of an elementwise kernel."""
    file: str
    """The Python file that implements it, relative to this package: ``core/native/reductions/sum_mean.py``."""
    line: LineNumber
    """First line of the function in ``file``, from 1."""
    end_line: LineNumber
    """Last line of the function in ``file``."""

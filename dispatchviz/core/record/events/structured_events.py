"""Events of structured kernels: the meta function, the output that it requests, the impl function.

``aten/src/ATen/TensorMeta.h``, ``build/aten/src/ATen/RegisterCPU_*.cpp``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import LineNumber, Size, TensorNumber

StructuredVariant = Literal["functional", "in-place", "out", "default backend"]
"""Where a structured kernel's output comes from: a new tensor; ``self``; given by the caller; a new tensor, by a call
through the dispatcher (the functional variant under CompositeExplicitAutogradNonFunctional)."""

SetOutputMethod = Literal["set_output_raw_strided", "set_output_strided", "set_output_contiguous"]
"""Methods of ``at::impl::MetaBase``; the last two request strides that the kernel cannot do without."""


class MetaEntered(Container, frozen=True):
    """A structured kernel's meta function checks its arguments and requests its output; open until it returns.

    Operands that an elementwise kernel has to cast on the CPU are cast here (``TensorIteratorBase::compute_types``).
    """

    function: str
    """PyTorch's name of it: ``structured_add_Tensor::meta``."""


class OutputAllocated(Event, frozen=True):
    """``set_output`` provided the output that a meta function requested."""

    variant: StructuredVariant
    """Where the output comes from."""
    tensor: TensorNumber
    """Number of the output."""
    resized: bool
    """The output that was given had another size and was resized (``at::native::resize_output``)."""
    method: SetOutputMethod = "set_output_raw_strided"
    """What the meta function called."""
    proxy: TensorNumber | None = None
    """Number of the tensor that the impl writes instead, if the output has other strides than were requested
    (``maybe_create_proxy``)."""
    shape: tuple[Size, ...] = ()
    """Sizes requested; empty also in traces of format 1."""
    dtype: str = ""
    """Dtype requested: ``torch.float32``; empty in traces of format 1."""


class ProxyCopied(Event, frozen=True):
    """The impl has written a proxy; the call of ``copy_`` that follows copies the data into the output."""

    proxy: TensorNumber
    """Number of the proxy."""
    output: TensorNumber
    """Number of the output."""


class ImplEntered(Container, frozen=True):
    """A structured kernel's impl function writes the output; open until it returns."""

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

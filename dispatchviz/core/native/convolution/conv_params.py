"""``ConvParams`` and its checks, and ``_select_conv_backend``, which chooses the backend of a convolution
(``aten/src/ATen/native/Convolution.cpp``).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_arrays import Steps
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, of_either
from dispatchviz.core.tensor.dtype import float32
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.context import context


class Params(NamedTuple):
    """The settings of a convolution, with one number for each spatial dimension."""

    stride: Size
    padding: Size
    dilation: Size
    transposed: bool
    output_padding: Size
    groups: int

    @property
    def steps(self) -> Steps:
        """The stride, padding, dilation and groups, for the array functions."""
        return Steps(self.stride, self.padding, self.dilation, self.groups)

    @property
    def is_strided(self) -> bool:
        """True if a stride is not 1."""
        return any(step != 1 for step in self.stride)

    @property
    def is_dilated(self) -> bool:
        """True if a dilation is not 1."""
        return any(step != 1 for step in self.dilation)

    def as_2d(self) -> Params:
        """The settings with a dimension of length 1 in front of the only spatial dimension."""
        if len(self.stride) != 1:
            return self
        return self._replace(
            stride=(1, *self.stride),
            padding=(0, *self.padding),
            dilation=(1, *self.dilation),
            output_padding=(0, *self.output_padding),
        )


def params_of(
    weight: Tensor, stride: Size, padding: Size, dilation: Size, transposed: bool, output_padding: Size, groups: int
) -> Params:
    """The settings, with single numbers repeated for all dimensions. Raise RuntimeError for lists of another length."""
    dim = len(weight._size) - 2
    if dim <= 0:
        raise RuntimeError("weight should have at least three dimensions")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    return Params(
        _expanded(stride, "stride", dim),
        _expanded(padding, "padding", dim),
        _expanded(dilation, "dilation", dim),
        transposed,
        _expanded(output_padding, "output_padding", dim),
        groups,
    )


def _expanded(given: Size, name: str, dim: int) -> Size:
    if len(given) == 1:
        return (given[0],) * dim
    if len(given) != dim:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dim} values to match the convolution "
            f"dimensions, but got {name}={list(given)}"
        )
    return tuple(given)


# -- checks ------------------------------------------------------------------------------------------------------------


def check_shape(input: Tensor, weight: Tensor, bias: Tensor | None, params: Params) -> None:
    """Raise RuntimeError for shapes that do not fit together (``check_shape_forward``)."""
    _check_numbers(params)
    size, rank, groups = list(weight._size), len(weight._size), params.groups
    if len(input._size) != rank:
        raise RuntimeError(
            f"Expected {rank}-dimensional input for {rank}-dimensional weight {size}, but got {len(input._size)}"
            f"-dimensional input of size {list(input._size)} instead"
        )
    if size[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{size} instead"
        )
    if size[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{size}] instead"
        )
    _check_channels(input, weight, bias, params)
    if not params.transposed:
        check_kernel(input, weight, params)


def _check_numbers(params: Params) -> None:
    if min(params.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(params.output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(params.stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(params.dilation) < 0:
        raise RuntimeError("dilation should be greater than zero")
    if min(params.dilation) == 0:  # the message of PyTorch's 2D kernels, which also compute 1D
        dilation = [1, *params.dilation][-max(2, len(params.dilation)) :]
        raise RuntimeError(f"dilation should be greater than zero, but got {dilation}")


def _check_channels(input: Tensor, weight: Tensor, bias: Tensor | None, params: Params) -> None:
    size, groups = list(weight._size), params.groups
    channels, outputs = (size[0], size[1] * groups) if params.transposed else (size[1] * groups, size[0])
    given = "transposed=1" if params.transposed else f"groups={groups}"
    if input._size[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {size}, expected input{list(input._size)} to have {channels} channels, "
            f"but got {input._size[1]} channels instead"
        )
    if bias is not None and bias._size != (outputs,):
        which = f"{given}, weight" if params.transposed else "weight"
        raise RuntimeError(
            f"Given {which} of size {size}, expected bias to be 1-dimensional with {outputs} elements, but got bias "
            f"of size {list(bias._size)} instead"
        )


def check_kernel(input: Tensor, weight: Tensor, params: Params) -> None:
    """Raise RuntimeError if the kernel is larger than the padded input."""
    padded = [length + 2 * pad for length, pad in zip(input._size[2:], params.padding, strict=True)]
    reach = [by * (width - 1) + 1 for width, by in zip(weight._size[2:], params.dilation, strict=True)]
    if any(length < width for length, width in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )


def check_same_type(input: Tensor, weight: Tensor, bias: Tensor | None, mkldnn: bool) -> None:
    """Raise RuntimeError if a parameter has another dtype or device than the input
    (``check_input_same_type_as_parameters``).
    """
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and (other._dtype is not input._dtype or other._device.type != input._device.type):
            more = f" or input should be a MKLDNN tensor and {name} is a dense tensor" if mkldnn else ""
            raise RuntimeError(
                f"Input type ({_type_name(input)}) and {name} type ({_type_name(other)}) should be the same{more}"
            )


def _type_name(tensor: Tensor) -> str:
    """The legacy name of a tensor's type, such as ``torch.cuda.FloatTensor``."""
    module = "torch" if tensor._device.type == "cpu" else f"torch.{tensor._device.type}"
    return f"{module}.{tensor._dtype.legacy}Tensor"


# -- choosing the backend ----------------------------------------------------------------------------------------------


class Backend(Enum):
    """``ConvBackend``, without the backends that plain tensors on the CPU or a GPU never reach."""

    CUDA_DEPTHWISE = "CudaDepthwise"
    CUDNN = "Cudnn"
    CUDNN_TRANSPOSE = "CudnnTranspose"
    EMPTY = "Empty"
    MKLDNN = "Mkldnn"
    MKLDNN_TRANSPOSE = "MkldnnTranspose"
    SLOW2D = "Slow2d"
    SLOW3D = "Slow3d"
    SLOW_DILATED = "SlowDilated"
    SLOW_TRANSPOSE = "SlowTranspose"


_LIBRARIES = (Backend.CUDNN, Backend.CUDNN_TRANSPOSE, Backend.MKLDNN, Backend.MKLDNN_TRANSPOSE)
"""The backends that support channels-last volumes."""


def select_backend(input: Tensor, weight: Tensor, params: Params) -> Backend:
    """The backend that computes the convolution. Raise RuntimeError if the space is empty.

    NB: in PyTorch, half and bfloat16 also go to oneDNN if the processor has instructions for them.
    """
    if input._size[0] == 0 or input._size[1] == 0:
        return Backend.EMPTY
    if numel(input._size) == 0:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input._size)}"
        )
    if input._device.type == "cuda" and input._dtype.is_floating_point:
        if _is_depthwise(input, weight, params):
            return Backend.CUDA_DEPTHWISE
        if context.user_enabled_cudnn:
            return Backend.CUDNN_TRANSPOSE if params.transposed else Backend.CUDNN
    if _use_mkldnn(input, weight, params):
        return Backend.MKLDNN_TRANSPOSE if params.transposed else Backend.MKLDNN
    return _slow_backend(input, params)


def _slow_backend(input: Tensor, params: Params) -> Backend:
    if params.transposed:
        return Backend.SLOW_TRANSPOSE
    if params.is_dilated or (len(input._size) == 5 and input._device.type == "cuda"):
        return Backend.SLOW_DILATED
    if len(input._size) == 5:
        return Backend.SLOW3D
    if input._device.type == "cpu":
        ops._nnpack_available.call()  # never chosen: it needs a batch of 16, which oneDNN takes
    return Backend.SLOW2D


def _is_depthwise(input: Tensor, weight: Tensor, params: Params) -> bool:
    channels = input._size[1]
    return not params.transposed and channels == params.groups > 1 and weight._size[0] % channels == 0


def _use_mkldnn(input: Tensor, weight: Tensor, params: Params) -> bool:
    """Return whether oneDNN computes: float32 on the CPU where it is expected to be faster, so not a single-threaded
    1x1 kernel.
    """
    if not context.user_enabled_mkldnn or _refused_by_mkldnn(params):
        return False
    if input._device.type != "cpu" or input._dtype is not float32:
        return False
    kernel, batch = weight._size[-2:], input._size[0]
    several = context.num_threads > 1
    worth = params.is_strided or params.is_dilated or batch >= 16 or kernel != (1, 1) or several
    large = batch > 1 or min(kernel) > 3 or batch * input._size[1] * input._size[2] * input._size[3] > 20480
    return worth and (params.groups > 1 or large)


def _refused_by_mkldnn(params: Params) -> bool:
    """Return whether oneDNN does not support the output padding because it is too large."""
    pairs = zip(params.output_padding, params.stride, strict=True)
    return params.transposed and any(pad >= step for pad, step in pairs)


def backend_format(input: Tensor, weight: Tensor, backend: Backend) -> str:
    """The memory format in which the backend computes (``determine_backend_memory_format``): channels_last if the input
    or the weights suggest it.
    """
    if backend in (Backend.CUDA_DEPTHWISE, Backend.EMPTY):
        return CONTIGUOUS
    return of_either(input, weight) if len(input._size) == 4 or backend in _LIBRARIES else CONTIGUOUS

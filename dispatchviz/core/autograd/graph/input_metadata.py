"""InputMetadata: dtype, shape and device that a Node expects of one incoming gradient
(``torch/csrc/autograd/input_metadata.h``).

NB: in PyTorch, the entry also holds a ``grad_dtype`` that users may change on a leaf. Here the expected dtype is always
the dtype of the forward output. A gradient for a placeholder (``GradientEdge``) is an internal assert there; here it
passes.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from dispatchviz.core.device import streams
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.device.streams import Stream
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType, float32
from dispatchviz.core.tensor.tensor import Size, Tensor


class InputMetadata(Struct, eq=False, gc=False):
    """Shape, dtype and device of the forward output behind a Node's input."""

    size: Size
    dtype: DType
    device: Device
    is_undefined: bool = False
    """True for a placeholder: the forward output was undefined, and no gradient arrives
    (``was_default_constructed``).
    """
    stream: Stream = streams.DEFAULT
    """The stream that was current when the entry was created, on which the forward operator ran."""

    @property
    def shape(self) -> list[int]:
        """The shape as Python sees it."""
        return list(self.size)

    @property
    def is_nested_tensor(self) -> bool:
        """False, since there are no nested tensors here."""
        return False

    @property
    def is_cpp_nested_tensor(self) -> bool:
        """False, since there are no nested tensors here."""
        return False

    def zeros_like(self) -> Tensor:
        """Return a zero gradient that fits."""
        return ops.zeros.call(self.size, self.dtype, "strided", self.device, None)


UNDEFINED = (InputMetadata((), float32, CPU, is_undefined=True),)
"""The metadata of a Node whose one forward output was undefined."""


@lru_cache(maxsize=4096)
def metadata_of(size: Size, dtype: DType, device: Device) -> tuple[InputMetadata]:
    """The metadata of a Node with one forward output. Nodes share it."""
    return (InputMetadata(size, dtype, device),)


def device_of(inputs: tuple[InputMetadata, ...]) -> Device:
    """The device of the first input that is not on the CPU. It decides in which queue a Node waits."""
    for entry in inputs:
        if entry.device.type != "cpu":
            return entry.device
    return CPU

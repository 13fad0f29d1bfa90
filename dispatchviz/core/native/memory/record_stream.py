"""``record_stream``: a stream's use of a tensor's memory (``aten/src/ATen/native/cuda/RecordStream.cu``)."""

from __future__ import annotations

from dispatchviz.core.device import streams
from dispatchviz.core.device.streams import Stream
from dispatchviz.core.tensor.tensor import Tensor


def record_stream_cuda(self: Tensor, s: Stream) -> None:
    """Record that the memory of ``self`` is also in use on the stream ``s``."""
    streams.record_stream(self, s, "the program asks for it")

"""``_cudnn_rnn``: detects the networks that cuDNN computes (``aten/src/ATen/native/cudnn/RNN.cpp``).

NB: ``_cudnn_rnn`` is not part of the model. If cuDNN is disabled (``torch.backends.cudnn.enabled``), PyTorch's own
kernels run.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import bfloat16, float16, float32, float64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.context import context


def cudnn_is_acceptable(self: Tensor) -> bool:
    """Return whether cuDNN accepts the tensor (``TensorProperties.cpp``)."""
    if not context.user_enabled_cudnn or self._device.type != "cuda":
        return False
    return self._dtype in (float64, float32, float16, bfloat16) and numel(self._size) != 0


def refuse_cudnn(input: Tensor) -> None:
    """Raise NotImplementedError where PyTorch would call cuDNN."""
    if ops.cudnn_is_acceptable.call(input):
        raise NotImplementedError(
            "recurrent networks of cuDNN are not part of dispatchviz's model of PyTorch; "
            "set torch.backends.cudnn.enabled = False to run PyTorch's own CUDA kernels"
        )

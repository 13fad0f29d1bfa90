"""The test whether anything could see the calls that a kernel makes.

PyTorch's kernels call operators for small steps, such as the cast of a Python number. A program sees these calls by its
recorder, by kernels that it registered, and by modes and transforms, which include keys. Without all of them, a kernel
takes the step itself, in a tenth of the time.
"""

from __future__ import annotations

from dispatchviz.core.keys.key_set import default_included_set, tensor_key_set
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

_OF_BACKEND = tensor_key_set("cpu", inference=True)
"""The keys of a dense tensor on the CPU that only select its backend."""


def are_unseen(tensor: Tensor) -> bool:
    """Return whether nothing could see the calls that a CPU kernel makes with a tensor: they would go straight to
    kernels of PyTorch for the backend.
    """
    state = thread.state
    return (
        recorder.active is None
        and not recorder.registrations
        and not state.included & ~default_included_set
        and not tensor._ks & ~(_OF_BACKEND | state.excluded)
    )

"""The functions that implement PyTorch's registrations. Only this package imports all others."""

from dispatchviz.foundation.lazy_modules import install

install(__name__, ["hand_written_kernels"])

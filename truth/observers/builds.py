"""The kernels that a CUDA build of PyTorch has beyond a CPU build of the same release.

Some releases can be installed only as a CUDA build, which works without a GPU. The C++ code of a CPU build is a part of
the CUDA build, so a CPU build has a kernel if it has the file that registers the kernel. The rule holds for all rows of
both builds of PyTorch 2.13: each writes the same ``registrations.txt``.
"""

from __future__ import annotations

import re

_CUDA_FILE = re.compile(r"\.cu:|/cudnn/|/Register\w*CUDA(?:_\d+)?\.cpp|_gpu\.cpp:")


def only_in_cuda_builds(debug: str) -> bool:
    """Return whether only CUDA builds contain the file that a debug text names."""
    return _CUDA_FILE.search(debug) is not None

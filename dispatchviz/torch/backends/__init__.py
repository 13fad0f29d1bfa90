"""``torch.backends``: flags of the libraries that compute (``torch/backends/__init__.py``)."""

from __future__ import annotations

from dispatchviz.torch.backends import cpu as cpu
from dispatchviz.torch.backends import cuda as cuda
from dispatchviz.torch.backends import cudnn as cudnn
from dispatchviz.torch.backends import mha as mha
from dispatchviz.torch.backends import mkl as mkl
from dispatchviz.torch.backends import mkldnn as mkldnn
from dispatchviz.torch.backends import mps as mps
from dispatchviz.torch.backends import openmp as openmp
from dispatchviz.torch.backends import opt_einsum as opt_einsum

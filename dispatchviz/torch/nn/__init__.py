"""``torch.nn``: parameters, modules, functions, initializers."""

from __future__ import annotations

from dispatchviz.torch.nn import attention as attention
from dispatchviz.torch.nn import functional as functional
from dispatchviz.torch.nn import grad as grad
from dispatchviz.torch.nn import init as init
from dispatchviz.torch.nn import modules as modules
from dispatchviz.torch.nn import parallel as parallel
from dispatchviz.torch.nn import parameter as parameter
from dispatchviz.torch.nn import utils as utils
from dispatchviz.torch.nn.modules import *  # noqa: F403
from dispatchviz.torch.nn.parallel import DataParallel as DataParallel
from dispatchviz.torch.nn.parameter import Buffer as Buffer
from dispatchviz.torch.nn.parameter import Parameter as Parameter
from dispatchviz.torch.nn.parameter import UninitializedBuffer as UninitializedBuffer
from dispatchviz.torch.nn.parameter import UninitializedParameter as UninitializedParameter

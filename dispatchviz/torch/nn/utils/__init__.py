"""``torch.nn.utils``: gradients clipped, parameters in one vector.

NB: in PyTorch, here are also weight and spectral norm, parametrizations, packed sequences and pruning.
"""

from __future__ import annotations

from dispatchviz.torch.nn.utils import clip_grad as clip_grad
from dispatchviz.torch.nn.utils import convert_parameters as convert_parameters
from dispatchviz.torch.nn.utils import rnn as rnn
from dispatchviz.torch.nn.utils import stateless as stateless
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from dispatchviz.torch.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from dispatchviz.torch.nn.utils.clip_grad import get_total_norm as get_total_norm
from dispatchviz.torch.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from dispatchviz.torch.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters

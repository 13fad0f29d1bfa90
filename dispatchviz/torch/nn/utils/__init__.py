"""``torch.nn.utils``: clip gradients, flatten parameters, normalize and parametrize weights, fuse layers."""

from __future__ import annotations

from dispatchviz.torch.nn.utils import clip_grad as clip_grad
from dispatchviz.torch.nn.utils import convert_parameters as convert_parameters
from dispatchviz.torch.nn.utils import parametrizations as parametrizations
from dispatchviz.torch.nn.utils import parametrize as parametrize
from dispatchviz.torch.nn.utils import prune as prune
from dispatchviz.torch.nn.utils import rnn as rnn
from dispatchviz.torch.nn.utils import stateless as stateless
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from dispatchviz.torch.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from dispatchviz.torch.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from dispatchviz.torch.nn.utils.clip_grad import get_total_norm as get_total_norm
from dispatchviz.torch.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from dispatchviz.torch.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from dispatchviz.torch.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from dispatchviz.torch.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from dispatchviz.torch.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from dispatchviz.torch.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from dispatchviz.torch.nn.utils.init import skip_init as skip_init
from dispatchviz.torch.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from dispatchviz.torch.nn.utils.spectral_norm import spectral_norm as spectral_norm
from dispatchviz.torch.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from dispatchviz.torch.nn.utils.weight_norm import weight_norm as weight_norm

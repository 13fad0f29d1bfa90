"""``torch._C._nn``: what ``torch.nn.functional`` is made of."""

from __future__ import annotations

from dispatchviz.core.binding import Binding as _Binding
from dispatchviz.core.generated import nn_functions as _functions

globals().update({name: value for name, value in vars(_functions).items() if isinstance(value, _Binding)})

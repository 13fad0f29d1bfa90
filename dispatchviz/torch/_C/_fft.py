"""``torch._C._fft``: the bindings behind ``torch.fft``."""

from __future__ import annotations

from dispatchviz.core.bindings.binding import Binding as _Binding
from dispatchviz.core.generated import fft_functions as _functions

globals().update({name: value for name, value in vars(_functions).items() if isinstance(value, _Binding)})

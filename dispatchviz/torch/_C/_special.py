"""``torch._C._special``: the bindings behind ``torch.special``."""

from __future__ import annotations

from dispatchviz.core.bindings.binding import Binding as _Binding
from dispatchviz.core.generated import special_functions as _functions

globals().update({name: value for name, value in vars(_functions).items() if isinstance(value, _Binding)})

"""``torch._C._linalg``: the bindings behind ``torch.linalg``."""

from __future__ import annotations

from dispatchviz.core.bindings.binding import Binding as _Binding
from dispatchviz.core.generated import linalg_functions as _functions

globals().update({name: value for name, value in vars(_functions).items() if isinstance(value, _Binding)})

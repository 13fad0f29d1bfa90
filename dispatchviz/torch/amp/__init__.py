"""``torch.amp``: automatic mixed precision."""

from __future__ import annotations

from dispatchviz.torch.amp.autocast_mode import autocast as autocast
from dispatchviz.torch.amp.autocast_mode import is_autocast_available as is_autocast_available
from dispatchviz.torch.amp.custom_functions import custom_bwd as custom_bwd
from dispatchviz.torch.amp.custom_functions import custom_fwd as custom_fwd
from dispatchviz.torch.amp.grad_scaler import GradScaler as GradScaler

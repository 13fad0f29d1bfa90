"""``torch.amp``: automatic mixed precision."""

from __future__ import annotations

from dispatchviz.torch.amp.autocast_mode import autocast as autocast
from dispatchviz.torch.amp.autocast_mode import is_autocast_available as is_autocast_available

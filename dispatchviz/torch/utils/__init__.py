"""``torch.utils``: data, checkpoints, hooks, and utilities for ``__torch_dispatch__``."""

from __future__ import annotations

from dispatchviz.torch.utils import _mode_utils as _mode_utils
from dispatchviz.torch.utils import _python_dispatch as _python_dispatch
from dispatchviz.torch.utils import _pytree as _pytree
from dispatchviz.torch.utils import benchmark as benchmark
from dispatchviz.torch.utils import checkpoint as checkpoint
from dispatchviz.torch.utils import data as data
from dispatchviz.torch.utils import deterministic as deterministic
from dispatchviz.torch.utils import hooks as hooks
from dispatchviz.torch.utils import weak as weak
from dispatchviz.torch.utils.backend_registration import rename_privateuse1_backend as rename_privateuse1_backend
from dispatchviz.torch.utils.swapping import swap_tensors as swap_tensors

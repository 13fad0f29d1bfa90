"""``torch.testing``: assertions over tensors, and random tensors for tests."""

from __future__ import annotations

from dispatchviz.torch.testing._comparison import assert_allclose as assert_allclose
from dispatchviz.torch.testing._comparison import assert_close as assert_close
from dispatchviz.torch.testing._creation import make_tensor as make_tensor

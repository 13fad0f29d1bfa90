"""``torch.library``: define and implement operators from Python. The implementations are in ``_library/``."""

from __future__ import annotations

from dispatchviz.torch._library.custom_op import custom_op
from dispatchviz.torch._library.custom_ops import CustomOpDef
from dispatchviz.torch._library.fake_impl import get_ctx
from dispatchviz.torch._library.infer_schema import infer_schema
from dispatchviz.torch._library.libraries import Library, _impls, _scoped_library, fallthrough_kernel
from dispatchviz.torch._library.registration import (
    define,
    get_kernel,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "_impls",
    "_scoped_library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

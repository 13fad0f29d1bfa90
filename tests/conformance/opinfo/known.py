"""The allowed differences, with reasons. An entry that nothing needs is an error."""

from __future__ import annotations

import re
from typing import NamedTuple

import torch

UNINITIALIZED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
"""Operators whose numbers are not compared."""

UP_TO_SIGNS = ("linalg.eig", "linalg.eigh", "linalg.svd", "pca_lowrank", "svd", "svd_lowrank")
"""Operators whose vectors have signs, or complex factors, that differ between builds of LAPACK."""


class Known(NamedTuple):
    """An allowed difference."""

    check: str
    """A regular expression for the whole name of the check."""
    difference: str
    """A regular expression for a part of its text."""
    reason: str

    def covers(self, check: str, difference: str) -> bool:
        """Return whether this entry allows the difference."""
        return bool(re.fullmatch(self.check, check) and re.search(self.difference, difference))


ANY = ".*"
HALF = Known(ANY, r"numbers of torch\.b?float16", "half precision is rounded at other steps")
SUM_ORDER = Known("function complex64", "numbers of torch.complex64", "products are added up in another order")


KNOWN: dict[str, tuple[Known, ...]] = {
    "complex": (Known(ANY, "Half|float16|complex32|ComplexHalf", "there is no complex32"),),
    "linalg.cond": (
        Known(
            "(function|out=) complex64.*|gradient float32",
            r"numbers of torch\.float32",
            "LAPACK builds round otherwise",
        ),
    ),
    "matmul": (SUM_ORDER,),
    "matrix_exp": (Known(ANY, r"numbers of torch\.(float32|complex64)", "products are added up in another order"),),
    "nn.functional.conv2d": (SUM_ORDER,),
    "nn.functional.conv_transpose1d": (HALF,),
    "nn.functional.conv_transpose2d": (HALF,),
    "nn.functional.conv_transpose3d": (HALF,),
    "nn.functional.gelu": tuple(
        Known(f"out= {dtype}, other strides", "numbers of", "oneDNN has no such type on this processor")
        for dtype, has_it in (
            ("bfloat16", torch.ops.mkldnn._is_mkldnn_bf16_supported()),
            ("float16", torch.ops.mkldnn._is_mkldnn_fp16_supported()),
        )
        if not has_it
    ),
    "nn.functional.scaled_dot_product_attention": (HALF,),
    "polar": (Known(ANY, "Half|float16|complex32", "there is no complex32"),),
    "pow": (Known("gradient float32", "numbers of torch.float32", "last bits of logarithms, in sums that cancel"),),
    "view_as_complex": (Known("function float16", "only supported for half", "there is no complex32"),),
}
"""The allowed differences by the OpInfo's full name."""

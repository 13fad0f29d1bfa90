"""``torch.Tag``: labels of operators (``aten/src/ATen/native/tags.yaml``), and the tags of custom operators.

NB: in PyTorch, tags also change how the compiler treats an operator. Here they are kept and, except for ``inplace`` and
``out``, have no effect. PyTorch's own operators have no tags here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence


class Tag(enum.Enum):
    """PyTorch's tags, by number."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __int__(self) -> int:
        return int(self.value)


Tags = Tag | Sequence[Tag] | None

tags_of: dict[str, list[Tag]] = {}
"""Full name of an operator -> its tags, if it was defined with some."""


def normalized(tags: Tags) -> tuple[Tag, ...]:
    """Return the tags as a tuple without repetitions, for one tag, several or none."""
    if tags is None:
        return ()
    return (tags,) if isinstance(tags, Tag) else tuple(dict.fromkeys(tags))

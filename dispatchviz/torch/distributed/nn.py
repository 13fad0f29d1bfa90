"""``torch.distributed.nn``: collectives with gradients (``torch/distributed/nn/functional.py``), which fail without a
process group.
"""

from __future__ import annotations

from dispatchviz.torch.distributed import needs_a_group

globals().update(
    {
        name: needs_a_group(name)
        for name in (
            "all_reduce",
            "reduce",
            "broadcast",
            "all_gather",
            "gather",
            "scatter",
            "reduce_scatter",
            "all_to_all",
        )
    }
)

"""Loop order of a reduction: reordered and coalesced dimensions (``reorder_dimensions`` and ``coalesce_dimensions`` of
``aten/src/ATen/TensorIterator.cpp``).

The simpler order of elementwise results is in ``strides.py``.
"""

from __future__ import annotations

from dispatchviz.core.tensor.tensor import Size

Loop = tuple[int, int, int]
"""One dimension: length, step of the output (0 if reduced), step of the input."""


def loops(size: Size, output: Size, input: Size) -> list[Loop]:
    """The remaining dimensions, the innermost first; ``size`` is the input's."""
    dims = list(zip(size, output, input, strict=True))
    joined: list[Loop] = []
    for dim in (dims[at] for at in _order(dims)):
        if joined and _can_join(joined[-1], dim):
            inner = joined[-1]
            steps = dim[1:] if inner[0] == 1 else inner[1:]
            joined[-1] = (inner[0] * dim[0], *steps)
        else:
            joined.append(dim)
    return joined


def _order(dims: list[Loop]) -> list[int]:
    """The order of the dimensions by PyTorch's insertion sort, from the last to the first."""
    order = list(reversed(range(len(dims))))
    for i in range(1, len(order)):
        at = i
        for before in reversed(range(i)):
            compared = _compare(dims[order[before]], dims[order[at]])
            if compared > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif compared < 0:
                break
    return order


def _compare(a: Loop, b: Loop) -> int:
    """Compare two dimensions: 1 if ``a`` must come after ``b``, -1 if not, 0 if undecided.

    Reduced dimensions come first.
    """
    if (a[1] == 0) != (b[1] == 0):
        return 1 if b[1] == 0 else -1
    for step_a, step_b in zip(a[1:], b[1:], strict=True):
        if step_a == 0 or step_b == 0:
            continue
        if step_a != step_b:
            return -1 if step_a < step_b else 1
        if a[0] > b[0]:
            return 1
    return 0


def _can_join(inner: Loop, outer: Loop) -> bool:
    if inner[0] == 1 or outer[0] == 1:
        return True
    return all(inner[0] * inner[i] == outer[i] for i in (1, 2))

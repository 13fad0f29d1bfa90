"""``torch.nn.attention``: the kernels that may compute ``scaled_dot_product_attention``
(``torch/nn/attention/__init__.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dispatchviz.core.native.attention.sdp_backends import SDPBackend as SDPBackend
from dispatchviz.core.thread.context import context

SDPBackend.__module__ = "torch.nn.attention"

_SWITCHES = {
    SDPBackend.CUDNN_ATTENTION: "cudnn_sdp",
    SDPBackend.FLASH_ATTENTION: "flash_sdp",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient_sdp",
    SDPBackend.MATH: "math_sdp",
    SDPBackend.OVERRIDEABLE: "overrideable_sdp",
}


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[str, object]]:
    """Allow only these backends for attention in a block; with ``set_priority``, try them in this order.

    Raise AssertionError for anything but a backend or a list. NB: on CUDA, products are still computed one by one.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    before, order = _allowed(), context.sdp_priority_order
    try:
        _allow(wanted)
        if set_priority:
            numbers = tuple(int(backend) for backend in wanted)
            context.sdp_priority_order = numbers + tuple(number for number in order if number not in numbers)
        yield {}
    finally:
        _allow(before)
        context.sdp_priority_order = order


def _allowed() -> list[SDPBackend]:
    return [backend for backend, switch in _SWITCHES.items() if getattr(context, switch)]


def _allow(backends: Iterable[SDPBackend]) -> None:
    for backend, switch in _SWITCHES.items():
        setattr(context, switch, backend in backends)

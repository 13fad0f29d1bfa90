"""The name of the device type for PrivateUse1, which a program may choose once (``c10/core/DeviceType.cpp``)."""

from __future__ import annotations

PLAIN = "privateuseone"
"""The name of the type as long as no other one is chosen. It keeps its meaning afterwards."""

_IN_TREE = ("cpu", "cuda", "hip", "mps", "xpu", "mtia")

chosen = ""
"""The chosen name; empty if none is."""


def current() -> str:
    """Return the name of the type."""
    return chosen or PLAIN


def choose(name: str) -> None:
    """Choose the name. Raise RuntimeError if there is another one already, and for a name of PyTorch's own types."""
    global chosen
    if chosen not in ("", name):
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backend: {chosen}")
    if name in _IN_TREE:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {name}")
    chosen = name

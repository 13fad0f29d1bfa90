"""``torch.backends.opt_einsum``: whether a package chooses the order of products in ``einsum``. It is not asked."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None."""

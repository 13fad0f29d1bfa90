"""``torch.backends.opt_einsum``: whether a package chooses the contraction order of ``einsum``. It is not used."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None."""

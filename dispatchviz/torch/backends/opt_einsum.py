"""``torch.backends.opt_einsum``: a package for the contraction order of ``einsum``, which the model does not use."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Return False."""
    return False


def get_opt_einsum() -> None:
    """Return None."""

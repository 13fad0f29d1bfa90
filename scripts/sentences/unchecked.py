"""Kinds of sentences that PyTorch is not asked about, by reason."""

from __future__ import annotations

UNCHECKED: dict[str, tuple[str, ...]] = {
    "says what the program did, nothing about PyTorch": (),
    "repeats its event; the events themselves are compared with PyTorch's log, graphs and order": (),
}
"""Reason to kinds."""


def reason(kind: str) -> str:
    """Why a kind is not asked about; empty if it is not listed here."""
    return next((why for why, kinds in UNCHECKED.items() if kind in kinds), "")

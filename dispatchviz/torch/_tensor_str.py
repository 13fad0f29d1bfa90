"""The options for printed tensors (``torch/_tensor_str.py``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import inf
from typing import Any


@dataclass
class PrinterOptions:
    """The options for printing tensors."""

    precision: int = 4
    """The number of digits after the decimal point."""
    threshold: float = 1000
    """Tensors with more elements are summarized."""
    edgeitems: int = 3
    """The number of elements that a summary shows at both ends."""
    linewidth: int = 80
    sci_mode: bool | None = None
    """Scientific notation: True for always, False for never, None to choose by the numbers."""


PRINT_OPTS = PrinterOptions()

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set print options. None keeps the old value (but for ``sci_mode``); a profile is applied before single
    options.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for chosen in (_PROFILES.get(profile or "", {}), given):
        for name, value in chosen.items():
            if value is not None:
                setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options as ``set_printoptions`` takes them."""
    return asdict(PRINT_OPTS)


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set print options for a block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)

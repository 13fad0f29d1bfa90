"""What meta and impl functions call: the function that builds the iterator, the stub that ends in the loop.

``native_calls.txt`` is read off the code of PyTorch's own library for the CPU (``truth/recorders/native_calls.py``).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_CALLS_FILE = Path(__file__).parent / "native_calls.txt"


@cache
def _calls() -> dict[str, tuple[str, ...]]:
    lines = _CALLS_FILE.read_text(encoding="utf-8").splitlines()
    return {name: tuple(called.split()) for name, _, called in (line.partition(": ") for line in lines)}


def native_calls(function: str) -> tuple[str, ...]:
    """``build_borrowing_binary_op`` of ``structured_add_Tensor::meta``, ``add_stub`` of
    ``structured_ufunc_add_CPU::impl``; none if it calls none, or has no code for the CPU."""
    return _calls().get(function, ())

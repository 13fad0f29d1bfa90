"""Texts without the parts that differ from run to run or from machine to machine."""

from __future__ import annotations

import re

_FOLDERS = re.compile(r"/(?:[^\s'\"/]+/)*?(?=(?:aten/src|build/aten|c10|torch)/)")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_DIGITS = re.compile(r"\d+\.\d{4,}(e[+-]\d+)?")
"""The pattern of a number whose last digits depend on rounding."""


def of_any_run(text: str) -> str:
    """Return a text without PyTorch's folder in the names of its files, and without the addresses of objects."""
    return _ADDRESS.sub("at an address", _FOLDERS.sub("", text))


def rounded(text: str) -> str:
    """Return a text whose numbers have at most three digits if they have many."""
    return _DIGITS.sub(lambda number: f"{float(number[0]):.3g}", text)

"""``Formatter``: the numbers in the repr of a tensor, by operators (``torch/_tensor_str.py``, from ``_Formatter`` on).

All numbers of a tensor get one width and one notation. The whole tensor decides them, or the elements that a summary
shows. Both parts of complex numbers have a width and a notation of their own.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch._tensor_str import PRINT_OPTS

_TOO_LARGE, _TOO_SMALL, _TOO_WIDE = 1e8, 1e-4, 1000.0
"""The limits of numbers and ratios beyond which scientific notation is used."""


class Formatter:
    """The width and notation of the numbers of one tensor. Only finite nonzero floating numbers decide them."""

    def __init__(self, tensor: Any) -> None:
        self._floating = tensor.dtype.is_floating_point
        self._integers = True
        self._scientific: Any = False
        """A tensor if the numbers decide, so that its ``bool`` is a call."""
        self._counted_with_exponents = False
        with torch.no_grad():
            flat = tensor.reshape(-1)
        counted = self._choose(flat) if self._floating else flat
        widths = () if counted is None else (len(self._written(value)) for value in counted)
        point = self._floating and self._integers and not self._counted_with_exponents
        self.width = max((width + point for width in widths), default=1)

    def _choose(self, flat: Any) -> Any:
        """Choose the notation. Return the numbers that decide it, or None."""
        counted = torch.masked_select(flat, torch.isfinite(flat) & flat.ne(0))
        if counted.numel() == 0:
            return None
        sizes = counted.abs().to(dtype=torch.double)
        smallest = sizes.min().to(dtype=torch.double)
        largest = sizes.max().to(dtype=torch.double)
        self._integers = not any(value != torch.ceil(value) for value in counted)
        chosen = PRINT_OPTS.sci_mode
        self._scientific = _needs_scientific(largest, smallest) if chosen is None else chosen
        self._counted_with_exponents = bool(self._scientific)
        return counted

    def _written(self, value: Any) -> str:
        """Return a deciding number as text, without padding."""
        if not self._floating:
            return f"{value}"
        if self._counted_with_exponents:
            return f"{value:.{PRINT_OPTS.precision}e}"
        return f"{value:.0f}" if self._integers else f"{value:.{PRINT_OPTS.precision}f}"

    def __call__(self, value: Any) -> str:
        """Return a Python number as text, padded to the common width."""
        return self._shown(value).rjust(self.width)

    def _shown(self, value: Any) -> str:
        if not self._floating:
            return f"{value}"
        if self._scientific:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self._integers:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{PRINT_OPTS.precision}f}"


def _needs_scientific(largest: Any, smallest: Any) -> Any:
    return largest / smallest > _TOO_WIDE or largest > _TOO_LARGE or smallest < _TOO_SMALL


class ComplexFormatter:
    """The width and notation of complex numbers, for both parts."""

    def __init__(self, tensor: Any, summarized: bool) -> None:
        self.real = Formatter(_decisive(tensor.real, summarized))
        self.imag = Formatter(_decisive(tensor.imag, summarized))
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: Any) -> str:
        return self.joined(self.real(value.real), self.imag(value.imag))

    def joined(self, real: str, imag: str) -> str:
        """Join both parts, with a sign between them."""
        imag = f"{imag}j".lstrip()
        return real + ("" if imag[0] in "+-" else "+") + imag


AnyFormatter = Formatter | ComplexFormatter


def numbers(tensor: Any, indent: int) -> str:
    """Return the numbers in brackets (``_tensor_str``)."""
    if tensor.numel() == 0:
        return "[]"
    summarized = tensor.numel() > PRINT_OPTS.threshold
    if tensor._is_zerotensor():
        tensor = tensor.clone()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if not tensor.dtype.is_complex:
        return _block(tensor, indent, summarized, Formatter(_decisive(tensor, summarized)))
    tensor = tensor.resolve_conj()
    return _block(tensor, indent, summarized, ComplexFormatter(tensor, summarized))


def _decisive(tensor: Any, summarized: bool) -> Any:
    return _edges(tensor) if summarized else tensor


def _edges(tensor: Any) -> Any:
    """Return the elements that a summary shows. If ``edgeitems`` is 0, a row decides by all elements and a matrix by
    none.
    """
    edge, length = PRINT_OPTS.edgeitems, tensor.size(0) if tensor.dim() else 0
    if not tensor.dim():
        return tensor
    if tensor.dim() == 1:
        return torch.cat((tensor[:edge], tensor[-edge:])) if length > 2 * edge else tensor
    if not edge:
        return tensor.new_empty([0] * tensor.dim())
    if length <= 2 * edge:
        return torch.stack([_edges(part) for part in tensor])
    indices = (*range(edge), *range(length - edge, length))
    return torch.stack([_edges(part) for part in [tensor[i] for i in indices]])


def _block(tensor: Any, indent: int, summarized: bool, formatter: AnyFormatter) -> str:
    if tensor.dim() == 0:
        return _one(tensor, formatter)
    if tensor.dim() == 1:
        return _row(tensor, indent, summarized, formatter)
    edge, length = PRINT_OPTS.edgeitems, tensor.size(0)
    if summarized and length > 2 * edge:
        blocks = [_block(tensor[i], indent + 1, summarized, formatter) for i in range(edge)]
        blocks.append("...")
        blocks += [_block(tensor[i], indent + 1, summarized, formatter) for i in range(length - edge, length)]
    else:
        blocks = [_block(tensor[i], indent + 1, summarized, formatter) for i in range(length)]
    between: str = "," + "\n" * (tensor.dim() - 1) + " " * (indent + 1)
    return "[" + between.join(blocks) + "]"


def _one(tensor: Any, formatter: AnyFormatter) -> str:
    """Return a single number as text. Read the parts of a complex number one after the other."""
    if isinstance(formatter, Formatter):
        return formatter(tensor.item())
    real = formatter.real(tensor.real.item())
    return formatter.joined(real, formatter.imag(tensor.imag.item()))


def _row(tensor: Any, indent: int, summarized: bool, formatter: AnyFormatter) -> str:
    edge = PRINT_OPTS.edgeitems
    if summarized and not edge:
        items = ["..."]
    elif summarized and tensor.size(0) > 2 * edge:
        items = [formatter(value) for value in tensor[:edge].tolist()]
        items += [" ...", *(formatter(value) for value in tensor[-edge:].tolist())]
    else:
        items = [formatter(value) for value in tensor.tolist()]
    a_line = max(1, (PRINT_OPTS.linewidth - indent) // (formatter.width + 2))
    lines = [", ".join(items[at : at + a_line]) for at in range(0, len(items), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

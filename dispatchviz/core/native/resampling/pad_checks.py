"""Shape checks of reflection and replication padding (``aten/src/ATen/native/ReflectionPad.cpp``, ``Padding.h``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor


def padded_size(size: Size, padding: Size) -> Size:
    """The size with both lengths of padding added to the last dimensions."""
    found = list(size)
    for i in range(len(padding) // 2):
        found[-1 - i] += padding[2 * i] + padding[2 * i + 1]
    return tuple(found)


def check_padded(name: str, self: Tensor, padding: Size) -> None:
    """Raise RuntimeError for a shape or padding that the operator ``name`` does not support."""
    count = int(name[-2])
    reflects = name.startswith("reflection")
    if len(padding) != 2 * count:
        found = f", but got: {len(padding)}" if reflects or count == 0 else ""
        raise RuntimeError(f"padding size is expected to be {2 * count}{found}")
    size = self._size
    batch = len(size) == count + 2
    if not (batch and all(size[1:])) and not (len(size) == count + 1 and all(size)):
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(size)}"
        )
    if reflects:
        _check_reflected(size, padding)
    _check_left(name, size, padding)


def _check_reflected(size: Size, padding: Size) -> None:
    rank = len(size)
    for i in range(len(padding) // 2):
        left, right = padding[2 * i : 2 * i + 2]
        if not (left < size[-1 - i] and right < size[-1 - i]):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({left}, {right}) at dimension {rank - 1 - i} of input {list(size)}"
            )


def _check_left(name: str, size: Size, padding: Size) -> None:
    """Raise RuntimeError if nothing is left after cropping."""
    count = len(padding) // 2
    whole = padded_size(size, padding)
    if name in ("replication_pad2d", "replication_pad3d") and min(whole[-count:]) < 1:
        raise RuntimeError(
            f"Calculated output {_lengths(whole, count, ' ')} must be >= 1 in every dimension "
            f"(input {_lengths(size, count, ', ')})"
        )
    if all(length < 1 for length in whole[-count:]):
        inside, outside = (_lengths(sizes, count, " " if count == 3 else ", ") for sizes in (size, whole))
        raise RuntimeError(f"input ({inside}) is too small. Calculated output {outside}")
    if min(whole) < 0:
        if name == "reflection_pad2d":
            raise RuntimeError("numel: integer multiplication overflow")
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(whole)}: {list(whole)}")


def _lengths(size: Size, count: int, separator: str) -> str:
    names = ("D", "H", "W")[-count:]
    return separator.join(f"{name}: {length}" for name, length in zip(names, size[-count:], strict=True))


def check_gradient(name: str, grad_output: Tensor, self: Tensor, padding: Size) -> None:
    """Raise RuntimeError if the gradient does not have the shape of the padded tensor."""
    whole = padded_size(self._size, padding)
    count, rank = len(padding) // 2, len(self._size)
    if name == "reflection_pad3d" and len(grad_output._size) != rank:
        raise RuntimeError(f"Expected grad_output.dim() == input.dim() to be true, but got false.  {IMPROVABLE}")
    argument = "grad_output" if name in ("reflection_pad1d", "reflection_pad3d") else "gradOutput"
    comma = "" if name == "replication_pad1d" else ","
    dims = [(what, rank - 1 - i) for i, what in enumerate(("width", "height", "depth")[:count])]
    if name == "replication_pad3d":
        dims.insert(0, ("channel", rank - 4))
    for what, dim in dims:
        found = grad_output._size[wrap_dim(dim, len(grad_output._size))]
        if found != whole[dim]:
            raise RuntimeError(f"{argument} {what} unexpected. Expected: {whole[dim]}{comma} Got: {found}")

"""``bilinear``, ``_trilinear`` (``aten/src/ATen/native/Linear.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.linalg.einsum import sumproduct_pair
from dispatchviz.core.tensor.tensor import Size, Tensor, numel


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """input1 @ weight[k] @ input2 + bias for every k. Raise RuntimeError for shapes that do not fit."""
    _check_bilinear(input1, input2, weight, bias)
    flat1 = ops.reshape.call(input1, (-1, input1._size[-1]))
    flat2 = ops.reshape.call(input2, (-1, input2._size[-1]))
    product = ops._trilinear.call(flat1, weight, flat2, (1, 3), (0,), (1, 2), (2, 3), 1)
    output = ops.reshape.call(product, (*input1._size[:-1], weight._size[0]))
    return output if bias is None else ops.add_Tensor.call(output, bias, 1)


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    first, second = input1._size, input2._size
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    for dim, (a, b) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}")
    for name, size, dim in (("input1", first, 1), ("input2", second, 2)):
        wrap_dim(dim, len(weight._size))
        if size[-1] != weight._size[dim]:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {size[-1]} but expected {weight._size[dim]}"
            )
    if bias is not None and bias._size[0] != weight._size[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._size[0]} but expected {weight._size[0]}"
        )


def _trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Size,
    expand2: Size,
    expand3: Size,
    sumdim: Size,
    unroll_dim: int,
) -> Tensor:
    """The product of three tensors with inserted dimensions, summed over some dimensions, slice by slice along one."""
    total = len(i1._size) + len(expand1)
    sizes: list[int] = []
    sums_of_two: list[int] = []
    sums_of_all: list[int] = []
    for dim in range(total):
        i1 = ops.unsqueeze.call(i1, dim) if dim in expand1 else i1
        i2 = ops.unsqueeze.call(i2, dim) if dim in expand2 else i2
        i3 = ops.unsqueeze.call(i3, dim) if dim in expand3 else i3
        real = i3 if dim not in expand3 else i2 if dim not in expand2 else i1
        sizes.append(real._size[dim])
        if dim in sumdim and dim != unroll_dim:
            (sums_of_two if dim in expand3 else sums_of_all).append(dim)
    size = tuple(1 if dim in sumdim else length for dim, length in enumerate(sizes))
    output = ops.zeros.call(size, i1._dtype, "strided", i1._device, None)
    if numel(i1._size) and numel(i2._size) and numel(i3._size):
        moves = [int(unroll_dim not in expanded) for expanded in (expand1, expand2, expand3)]
        for k in range(sizes[unroll_dim]):
            product = _slice_product((i1, i2, i3), moves, unroll_dim, k, sums_of_two, sums_of_all)
            target = output if unroll_dim in sumdim else ops.narrow.call(output, unroll_dim, k, 1)
            ops.add__Tensor.call(target, product, 1)
    for dim in reversed(range(total)):
        if dim in sumdim:
            ops.squeeze__dim.call(output, dim)
    return output


def _slice_product(
    factors: tuple[Tensor, Tensor, Tensor],
    moves: list[int],
    dim: int,
    k: int,
    sums_of_two: list[int],
    sums_of_all: list[int],
) -> Tensor:
    """The product of the k-th slices along a dimension. A factor with one slice there uses it for every k."""
    second = ops.narrow.call(factors[1], dim, k * moves[1], 1)  # C++ evaluates the right argument first
    first = ops.narrow.call(factors[0], dim, k * moves[0], 1)
    product = sumproduct_pair(first, second, tuple(sums_of_two))
    return sumproduct_pair(product, ops.narrow.call(factors[2], dim, k * moves[2], 1), tuple(sums_of_all))

"""``einsum``: parses the equation, permutes the operands to its labels, and contracts pairs by ``bmm``
(``aten/src/ATen/native/Linear.cpp``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor

ELLIPSIS = "..."
Name = str | int
"""A dimension of the aligned operands: a letter, or the number of a dimension that an ellipsis covers."""


class Plan(NamedTuple):
    """The parsed equation for operands of given ranks."""

    operands: list[list[str]]
    """The letters and ``...`` of each operand."""
    names: list[Name]
    """The dimensions of the aligned operands: first those of the result, then those to sum over."""
    results: int
    """The number of dimensions of the result."""
    covered: int
    """The number of dimensions that the longest ellipsis covers."""


def einsum(equation: str, tensors: Sequence[Tensor], path: Sequence[int] | None) -> Tensor:
    """Products of elements of all tensors, summed over the labels that the right side of the equation lacks.

    ``path`` gives two positions per contraction; without it the first two operands are contracted each time. Raise
    RuntimeError for an invalid equation and for sizes that do not fit it.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    _check_path(path, len(tensors))
    plan = _plan(equation, tensors)
    aligned, counts = _aligned(plan, tensors)
    result = _contracted(plan, aligned, counts, path)
    to_sum = range(plan.results, len(plan.names))
    if not to_sum:
        return result
    if len(tensors) > 1:
        return ops.view.call(result, result._size[: plan.results])
    return ops.sum_dim_IntList.call(result, tuple(to_sum), False, None)


def _check_path(path: Sequence[int] | None, count: int) -> None:
    size = max(1, (count - 1) * 2)
    if path is not None and len(path) != size:
        raise RuntimeError(
            f"einsum(): expected contraction path given in path parameter to have size {size} but got {len(path)}"
        )


# -- the equation ------------------------------------------------------------------------------------------------------


def _plan(equation: str, tensors: Sequence[Tensor]) -> Plan:
    left, arrow, right = equation.partition("->")
    operands = list(_operand_labels(left, len(tensors)))
    covered = max(
        _covered(i, labels, len(t._size)) for i, (labels, t) in enumerate(zip(operands, tensors, strict=True))
    )
    counts = Counter(label for labels in operands for label in labels if label != ELLIPSIS)
    if arrow:
        output = list(_output_labels(right, len(left) + 2, counts))
    else:
        output = [ELLIPSIS, *(label for label in sorted(counts) if counts[label] == 1)]
    names = [name for label in output for name in _expanded(label, covered)]
    summed = [*([] if ELLIPSIS in output else [ELLIPSIS]), *(label for label in sorted(counts) if label not in output)]
    return Plan(operands, names + [name for label in summed for name in _expanded(label, covered)], len(names), covered)


def _expanded(label: str, covered: int) -> Sequence[Name]:
    return range(covered) if label == ELLIPSIS else (label,)


def _operand_labels(text: str, count: int) -> Iterator[list[str]]:
    """Yield the labels of each operand. Raise RuntimeError if there are not ``count`` operands."""
    number, labels, i = 0, list[str](), 0
    while i < len(text):
        if text[i] == ",":
            yield labels
            number, labels = number + 1, []
            if number == count:
                raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        elif text[i] == ".":
            if ELLIPSIS in labels:
                _refuse(f"found '.' for operand {number} for which an ellipsis was already found")
            i += _ellipsis(text, i, f"found '.' for operand {number} that is not part of any ellipsis")
            labels.append(ELLIPSIS)
        elif text[i] != " ":
            labels.append(_letter(text[i], i))
        i += 1
    if number != count - 1:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    yield labels


def _output_labels(text: str, start: int, counts: Counter[str]) -> Iterator[str]:
    """Yield the labels of the right side, which begins at index ``start`` of the equation."""
    seen, i = set[str](), 0
    while i < len(text):
        if text[i] == ".":
            if ELLIPSIS in seen:
                _refuse("found '.' for output but an ellipsis (...) was already found")
            i += _ellipsis(text, i, "found '.' for output that is not part of any ellipsis (...)")
            seen.add(ELLIPSIS)
            yield ELLIPSIS
        elif text[i] != " ":
            letter = _letter(text[i], start + i)
            if letter in seen:
                _refuse(f"output subscript {letter} appears more than once in the output")
            if letter not in counts:
                _refuse(f"output subscript {letter} does not appear in the equation for any input operand")
            seen.add(letter)
            yield letter
        i += 1


def _ellipsis(text: str, i: int, wrong: str) -> int:
    """The number of characters to skip after the first dot of an ellipsis. Raise RuntimeError if it is not ``...``."""
    if text[i : i + 3] != ELLIPSIS:
        _refuse(wrong)
    return 2


def _letter(char: str, index: int) -> str:
    if not (char.isascii() and char.isalpha()):
        _refuse(f"invalid subscript given at index {index} in the equation string, subscripts must be in [a-zA-Z]")
    return char


def _refuse(text: str) -> None:
    raise RuntimeError(f"einsum(): {text}")


def _covered(i: int, labels: list[str], rank: int) -> int:
    """The number of dimensions that the ellipsis of operand ``i`` covers.

    Raise RuntimeError if the letters do not fit its rank.
    """
    letters = len(labels) - (ELLIPSIS in labels)
    if ELLIPSIS in labels:
        if letters > rank:
            _refuse(
                f"the number of subscripts in the equation ({letters}) is more than the number of dimensions ({rank}) "
                f"for operand {i}"
            )
        return rank - letters
    if letters != rank:
        _refuse(
            f"the number of subscripts in the equation ({letters}) does not match the number of dimensions ({rank}) "
            f"for operand {i} and no ellipsis was given"
        )
    return 0


# -- alignment ---------------------------------------------------------------------------------------------------------


def _aligned(plan: Plan, tensors: Sequence[Tensor]) -> tuple[list[Tensor], Counter[Name]]:
    """Every operand with all of the plan's dimensions, and for each dimension the number of operands in which it is
    longer than 1.
    """
    sizes: dict[Name, int] = {}
    counts: Counter[Name] = Counter()
    aligned = []
    for i, tensor in enumerate(tensors):
        tensor, indices = _named(plan, i, tensor, sizes, counts)
        for name in plan.names:
            if name not in indices:
                indices[name] = len(indices)
                tensor = ops.unsqueeze.call(tensor, indices[name])
        aligned.append(ops.permute.call(tensor, tuple(indices[name] for name in plan.names)))
    return aligned, counts


def _named(
    plan: Plan, i: int, tensor: Tensor, sizes: dict[Name, int], counts: Counter[Name]
) -> tuple[Tensor, dict[Name, int]]:
    """An operand, with the diagonal for a repeated letter, and the dimension of each name."""
    indices: dict[Name, int] = {}
    rank = len(tensor._size)
    for name in _names_of(plan, i, rank):
        dim = len(indices)
        size = tensor._size[dim]
        if name in indices:
            tensor = _diagonal(tensor, i, name, indices[name], dim)
            continue
        if size != 1:
            if sizes.get(name, size) != size:
                _refuse(_mismatch(name, i, dim, size, sizes[name]))
            sizes[name] = size
            counts[name] += 1
        indices[name] = dim
    return tensor, indices


def _names_of(plan: Plan, i: int, rank: int) -> Iterator[Name]:
    """Yield the names of an operand's dimensions. A shorter ellipsis covers the last of the covered dimensions."""
    for label in plan.operands[i]:
        if label == ELLIPSIS:
            yield from range(plan.covered - (rank - len(plan.operands[i]) + 1), plan.covered)
        else:
            yield label


def _mismatch(name: Name, i: int, dim: int, size: int, seen: int) -> str:
    if isinstance(name, int):  # PyTorch's message lacks a space too
        return (
            f"dimension {dim} covered by ellipsis in operand {i}has size {size} which does not broadcast with "
            f"previously seen ellipsis with size {seen} for the respective dimension"
        )
    return f"subscript {name} has size {size} for operand {i} which does not broadcast with previously seen size {seen}"


def _diagonal(tensor: Tensor, i: int, name: Name, first: int, second: int) -> Tensor:
    one, other = tensor._size[second], tensor._size[first]
    if one != other:
        _refuse(f"subscript {name} is repeated for operand {i} but the sizes don't match, {one} != {other}")
    return ops.movedim_int.call(ops.diagonal.call(tensor, 0, first, second), -1, first)


# -- contraction -------------------------------------------------------------------------------------------------------


def _contracted(plan: Plan, operands: list[Tensor], counts: Counter[Name], path: Sequence[int] | None) -> Tensor:
    """All operands contracted to one, pair by pair. Dimensions are summed as soon as no later operand has them."""
    steps = iter(path or ())
    while len(operands) > 1:
        i, j = (0, 1) if path is None else _pair(next(steps), next(steps), len(operands))
        right, left = operands.pop(j), operands.pop(i)
        product = _contracted_pair(plan, left, right, counts)
        operands.insert(0 if path is None else len(operands), product)
    return operands[0]


def _pair(i: int, j: int, count: int) -> tuple[int, int]:
    """Both positions in ascending order. Raise RuntimeError if they are equal or out of range."""
    i, j = min(i, j), max(i, j)
    if i == j or i < 0 or j >= count:
        wrong = "cannot contract an operand with itself" if i == j else "operand index is out of bounds"
        _refuse(f"invalid contraction ({i}, {j}) {wrong}")
    return i, j


def _contracted_pair(plan: Plan, left: Tensor, right: Tensor, counts: Counter[Name]) -> Tensor:
    both, left_only, right_only = list[int](), list[int](), list[int]()
    for dim in range(plan.results, len(plan.names)):
        name, in_left, in_right = plan.names[dim], left._size[dim] != 1, right._size[dim] != 1
        counts[name] -= in_left and in_right
        if counts[name] == 1 and (in_left or in_right):
            counts[name] = 0
            (both if in_left and in_right else left_only if in_left else right_only).append(dim)
    if left_only:
        left = ops.sum_dim_IntList.call(left, tuple(left_only), True, None)
    if right_only:
        right = ops.sum_dim_IntList.call(right, tuple(right_only), True, None)
    return sumproduct_pair(left, right, tuple(both))


def sumproduct_pair(left: Tensor, right: Tensor, sum_dims: tuple[int, ...]) -> Tensor:
    """left * right, summed over some dimensions, which keep size 1. Both have the same number of dimensions.

    If the right factor's own dimensions precede the left one's, the factors are swapped, so that the product is laid
    out in the order of its dimensions.
    """
    if not sum_dims:
        return ops.mul_Tensor.call(left, right)
    for dim in sum_dims:  # a dimension of only one factor is summed first
        if left._size[dim] != 1 and right._size[dim] == 1:
            left = ops.sum_dim_IntList.call(left, (dim,), True, None)
        elif left._size[dim] == 1 and right._size[dim] != 1:
            right = ops.sum_dim_IntList.call(right, (dim,), True, None)
    kept = [dim for dim in range(len(left._size)) if dim not in sum_dims]
    batch = [dim for dim in kept if left._size[dim] != 1 and right._size[dim] != 1]
    rows = [dim for dim in kept if left._size[dim] != 1 and right._size[dim] == 1]
    columns = [dim for dim in kept if left._size[dim] == 1]
    if rows and columns and columns[-1] < rows[0]:
        left, right, rows, columns = right, left, columns, rows
    return _batched_product(left, right, (batch, rows, list(sum_dims), columns))


def _batched_product(left: Tensor, right: Tensor, groups: tuple[list[int], list[int], list[int], list[int]]) -> Tensor:
    """The product by ``bmm`` of [batch, rows, summed] and [batch, summed, columns]."""
    batch, rows, summed, columns = groups
    sizes = [prod(left._size[d] for d in batch), prod(left._size[d] for d in rows)]
    length, width = prod(left._size[d] for d in summed), prod(right._size[d] for d in columns)
    for dim in (*batch, *summed):
        if left._size[dim] != right._size[dim]:
            raise RuntimeError("non-broadcast dimensions must match")
    order = batch + rows + summed + columns
    shape = [left._size[d] for d in batch + rows] + [1 for _ in summed] + [right._size[d] for d in columns]
    first = ops.reshape.call(ops.permute.call(left, tuple(order)), (*sizes, length))
    other = ops.permute.call(right, tuple(batch + summed + columns + rows))
    product = ops.bmm.call(first, ops.reshape.call(other, (sizes[0], length, width)))
    back = tuple(order.index(dim) for dim in range(len(order)))
    return ops.permute.call(ops.view.call(product, tuple(shape)), back)

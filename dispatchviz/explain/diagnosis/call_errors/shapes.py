"""Sizes and dimensions that a tensor does not have: ``view`` to another number of elements, ``sum(1)`` of a vector."""

from __future__ import annotations

import ast
import re
from math import prod

from dispatchviz.explain.diagnosis.arguments import Argument, arguments, called, created, diagnosed, named, reference
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import counted, shaped

INVALID = re.compile(r"shape '(\[.*?\])' is invalid for input of size (\d+)")
RANGE = re.compile(r"expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)")


ORDERING = re.compile(r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)")
PIECES = re.compile(r"sum exactly to (\d+) \(input tensor's size at dimension (-?\d+)\), but got split_sizes=(\[.*?\])")


def other_size(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``view`` or ``reshape`` to sizes with another number of elements."""
    sizes, one = INVALID.search(failure.message), named(arguments(failure), "self")
    if sizes is None or one is None or prod(one.shape) != int(sizes[2]):
        return None
    wanted: list[int] = ast.literal_eval(sizes[1])
    known = prod(size for size in wanted if size >= 0)
    hold = f"hold a multiple of {known} elements" if -1 in wanted else f"hold {counted(known, 'element')}"
    text = f"{called(failure)} asks for sizes {sizes[1]}, which {hold}, but {one.sized} has {sizes[2]}."
    return diagnosed(failure, Statement("shapes: another number of elements", text), (_computed(one, wanted),), (one,))


def _computed(one: Argument, wanted: list[int]) -> str:
    """Return a fix in which PyTorch computes one size, if that fits."""
    count = prod(one.shape)
    for at in range(len(wanted)):
        others = prod(size for place, size in enumerate(wanted) if place != at)
        if others > 0 and count % others == 0:
            sizes = [-1 if place == at else size for place, size in enumerate(wanted)]
            gives = [count // others if place == at else size for place, size in enumerate(wanted)]
            return f"Let PyTorch compute size {at}: {shaped(sizes)} results in {shaped(gives)}."
    return f"Choose sizes whose product is {count}."


def dimension(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a dimension that a tensor does not have."""
    sizes, found = RANGE.search(failure.message), arguments(failure)
    if sizes is None or not found:
        return None
    many = int(sizes[2]) + 1
    one = next((each for each in found if max(len(each.shape), 1) == many), None)
    if one is None:
        return None
    numbers = f"0 {'and' if many == 2 else 'to'} {sizes[2]}" if many > 1 else "0"
    has = f"{counted(len(one.shape), 'dimension')}, {numbers}"
    text = f"{called(failure)} asks for dimension {sizes[3]}, but {one.sized} has only {has}."
    if not one.shape:
        text = f"{called(failure)} asks for dimension {sizes[3]}, but {one.name} has no dimension: it is one number."
    made, it = created(failure, one), reference(one, "the tensor")
    here = f" on {made}" if made and it == one.name else ""
    fix = f"Use a dimension from {sizes[1]} to {sizes[2]}, or give {it} more dimensions{here}."
    return diagnosed(failure, Statement("shapes: no such dimension", text), (fix,), (one,))


def ordering(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``permute`` with another number of dimensions."""
    match, one = ORDERING.search(failure.message), named(arguments(failure), "self")
    if match is None or one is None:
        return None
    text = f"{called(failure)} orders {match[2]} dimensions, but {one.sized} has {match[1]}."
    fix = (
        f"Name each dimension of {reference(one, 'the tensor')} once: {shaped(range(len(one.shape)))} in another order."
    )
    return diagnosed(failure, Statement("shapes: permute", text), (fix,), (one,))


def pieces(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``split`` into sizes with another sum."""
    match, one = PIECES.search(failure.message), named(arguments(failure), "self")
    if match is None or one is None:
        return None
    total = sum(ast.literal_eval(match[3]))
    text = (
        f"{called(failure)} asks for pieces with the sizes {match[3]}, {total} in all, but {one.sized} has "
        f"{match[1]} in dimension {match[2]}."
    )
    fix = f"Choose sizes whose sum is {match[1]}, or one size for all pieces."
    return diagnosed(failure, Statement("shapes: split", text), (fix,), (one,))


RULES = (
    ("does not match the length of the desired ordering", ordering),
    ("expects split_sizes to sum exactly to", pieces),
    ("is invalid for input of size", other_size),
    ("Dimension out of range", dimension),
)

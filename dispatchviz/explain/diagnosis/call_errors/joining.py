"""Tensors that cannot be joined: ``cat`` and ``stack`` of sizes that differ."""

from __future__ import annotations

import re

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    applied,
    arguments,
    called,
    diagnosed,
    failed_call,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import base_name
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import shaped

SIZES = re.compile(r"except in dimension (\d+)\. Expected size (\d+) but got size (\d+) for tensor number (\d+)")
STACKED = re.compile(r"at entry (\d+) and \[.*?\] at entry (\d+)")


def cat_sizes(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``cat`` of tensors that differ in another dimension than the joined one."""
    found, sizes = arguments(failure), SIZES.search(failure.message)
    if sizes is None:
        return None
    first, other = named(found, "tensors[0]"), named(found, f"tensors[{sizes[4]}]")
    if first is None or other is None:
        return None
    dim = int(sizes[1])
    differing = [at for at, (a, b) in enumerate(zip(first.shape, other.shape, strict=False)) if at != dim and a != b]
    there = f"in dimension {differing[0]}" if differing else "in another dimension"
    text = (
        f"{called(failure)} joins tensors in dimension {dim}, so all other sizes must be equal; {there} {first.sized} "
        f"has {sizes[2]} and {other.sized} has {sizes[3]}."
    )
    return diagnosed(
        failure, Statement("shapes: cat", text), (_other_dimension(failure, differing, dim),), (first, other)
    )


def _other_dimension(failure: Failure, differing: list[int], dim: int) -> str:
    shapes = [each.shape for each in arguments(failure)]
    if len(differing) == 1:
        at = differing[0]
        if len({(*shape[:at], *shape[at + 1 :]) for shape in shapes}) == 1:
            return f"Join them in dimension {at}: cat(..., dim={at})."
    return f"Give the tensors equal sizes in all dimensions but {dim}."


def cat_dimensions(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``cat`` of tensors with different numbers of dimensions."""
    found = [each for each in arguments(failure) if each.parameter.startswith("tensors[")]
    differing = next((each for each in found if len(each.shape) != len(found[0].shape)), None)
    if differing is None:
        return None
    first = found[0]
    text = (
        f"{called(failure)} joins tensors with the same number of dimensions, but {first.sized} has "
        f"{len(first.shape)} and {differing.sized} has {len(differing.shape)}."
    )
    return diagnosed(
        failure, Statement("shapes: cat of other dimensions", text), (_unsqueezed(first, differing),), found
    )


def _unsqueezed(first: Argument, other: Argument) -> str:
    small, large = sorted((first, other), key=lambda each: len(each.shape))
    if small.shape == large.shape[1:]:
        added = applied(small, "the smaller one", ".unsqueeze(0)")
        return f"Add a dimension to it: {added} has sizes {shaped((1, *small.shape))}."
    return f"Add dimensions to {reference(small, 'the smaller one')}, with unsqueeze or reshape."


def stack_sizes(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``stack`` of tensors of different sizes."""
    found, entries, call = arguments(failure), STACKED.search(failure.message), failed_call(failure)
    if entries is None or call is None:
        return None
    first, other = (named(found, f"tensors[{entries[at]}]") for at in (1, 2))
    if first is None or other is None:
        return None
    text = f"{called(failure)} stacks tensors of equal sizes, but {first.sized} and {other.sized} differ."
    fixes = []
    if base_name(call) == "stack" and first.shape[1:] == other.shape[1:] and first.shape:
        fixes += [
            "Join them in their first dimension with torch.cat, or bring them to one length first (pad_sequence)."
        ]
    return diagnosed(
        failure, Statement("shapes: stack", text), tuple(fixes) or ("Give them equal sizes.",), (first, other)
    )


RULES = (
    ("Sizes of tensors must match except in dimension", cat_sizes),
    ("Tensors must have same number of dimensions", cat_dimensions),
    ("expects each tensor to be equal size", stack_sizes),
)

"""Sizes that cannot be broadcast: two arguments, an in-place result, ``expand``, an assignment to a part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    applied,
    arguments,
    called,
    diagnosed,
    failed_call,
    is_batched,
    named,
    named_with_line,
    reference,
)
from dispatchviz.explain.diagnosis.call_errors.products import product
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import base_name, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import listed, shaped

BROADCAST = re.compile(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
OUTPUT = re.compile(r"output with shape (\[.*?\]) doesn't match the broadcast shape (\[.*?\])")
EXPANDED = re.compile(
    r"\((\d+)\) must match the existing size \((\d+)\).*Target sizes: (\[.*?\])\.  Tensor sizes: (\[.*?\])"
)


def broadcast(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of two arguments that cannot be broadcast with each other."""
    sizes, call = BROADCAST.search(failure.message), failed_call(failure)
    if sizes is None or call is None:
        return None
    if base_name(call) in ("matmul", "bmm"):
        return product(failure)
    pair = next(_misfits(arguments(failure), int(sizes[1]), int(sizes[2])), None)
    if pair is None:
        return None
    one, other = pair
    text = (
        f"{called(failure)} broadcasts {one.sized} with {other.sized}. Aligned at their last dimensions, size "
        f"{sizes[1]} of {one.name} meets size {sizes[2]} of {other.name}: they must be equal, or one of them must be "
        "1."
    )
    return diagnosed(failure, Statement("shapes: broadcasting", text), (_fit(failure, one, other),), pair)


def _misfits(found: Sequence[Argument], one: int, other: int) -> Iterator[tuple[Argument, Argument]]:
    for first in found:
        for second in found:
            meeting = zip(reversed(first.shape), reversed(second.shape), strict=False)
            if first is not second and (one, other) in meeting:
                yield first, second


def can_broadcast(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two shapes can be broadcast."""
    meeting = zip(reversed(one), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in meeting)


def _fit(failure: Failure, one: Argument, other: Argument) -> str:
    """Return a fix: an additional dimension, or a transposed argument, or else the lines that made both."""
    for each, there in ((other, one), (one, other)):
        if (at := dimension_to_add(each.shape, there.shape)) is not None:
            added = applied(each, "the smaller one", f".unsqueeze({at})")
            return f"Add a dimension of size 1: {added} has sizes {shaped(_with_one(each.shape, at))}."
    for each, there in ((other, one), (one, other)):
        if len(each.shape) == 2 and can_broadcast(each.shape[::-1], there.shape):
            noun = "the first" if each is one else "the second"
            return f"Transpose one: {applied(each, noun, '.T')} has sizes {shaped(each.shape[::-1])}."
    where = [named_with_line(failure, each) for each in (one, other)]
    return f"Give them equal sizes there: look at {where[0]} and {where[1]}."


def dimension_to_add(small: Sequence[int], large: Sequence[int]) -> int | None:
    """Return the place where ``unsqueeze`` makes the smaller shape fit without making the result larger, or None."""
    if len(small) >= len(large):
        return None
    places = range(len(small), 0, -1)
    return next((at for at in places if can_broadcast(_with_one(small, at), large)), None)


def _with_one(shape: Sequence[int], at: int) -> tuple[int, ...]:
    return (*shape[:at], 1, *shape[at:])


# -- results that do not fit ------------------------------------------------------------------------------------------


def in_place(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an in-place operator whose result is larger than the tensor that it writes to."""
    sizes, call, found = OUTPUT.search(failure.message), failed_call(failure), arguments(failure)
    to = named(found, "self")
    if sizes is None or call is None or to is None or len(found) < 2 or any(map(is_batched, found)):
        return None
    if not base_name(call).endswith("_"):
        return None
    others = listed([each.sized for each in found if each is not to])
    text = (
        f"{called(failure)} writes in place into {to.sized}, but with {others} the result has sizes "
        f"{sizes[2]}: an in-place operator cannot change the sizes of its tensor."
    )
    operator, it = base_name(call).rstrip("_"), reference(to, "the tensor")
    here = on_line(failure.trace, failure.raised, text=False)
    fix = f"Compute a new tensor on {here}: {operator} instead of {operator}_."
    if it == to.name:
        fix = f"{fix[:-1]}, and assign it to {it}."
    return diagnosed(failure, Statement("shapes: result of an in-place operator", text), (fix,), found)


def expanded(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``expand`` of a size that is not 1, by itself or in an assignment or the addition of a
    bias.
    """
    sizes, call, found = EXPANDED.search(failure.message), failed_call(failure), arguments(failure)
    if sizes is None or call is None or not found:
        return None
    line = source_text(failure.trace, failure.line) if failure.line is not None else ""
    if _assigns_to_part(line) and "expand" not in line and "broadcast_to" not in line:
        return _assigned(failure, sizes[3], sizes[4])
    one = next((each for each in found if shaped(each.shape) == sizes[4]), None)
    if one is None:
        return None
    text = (
        f"{called(failure)} expands {one.sized} to sizes {sizes[3]}: size {sizes[2]} cannot become {sizes[1]}; only "
        "size 1 can be expanded."
    )
    it = reference(one, "it")
    fix = f"Give {it} size 1 or {sizes[1]} in that dimension."
    return diagnosed(failure, Statement("shapes: expand", text), (fix,), (one,))


def _assigned(failure: Failure, place: str, value: str) -> Diagnosis:
    text = (
        f"{on_line(failure.trace, failure.raised)} assigns a value with sizes {value} to a place with sizes {place}, "
        "and the value cannot be broadcast to them."
    )
    fix = f"Assign a value with sizes {place}, or choose a place with sizes {value}."
    return diagnosed(failure, Statement("shapes: assignment to a part", sentence(text)), (fix,))


def _assigns_to_part(line: str) -> bool:
    try:
        statements = ast.parse(line).body
    except SyntaxError:
        return False
    return any(
        isinstance(each, ast.Assign) and any(isinstance(to, ast.Subscript) for to in each.targets)
        for each in statements
    )


RULES = (
    ("must match the size of tensor b", broadcast),
    ("doesn't match the broadcast shape", in_place),
    ("must match the existing size", expanded),
)

"""``view`` of a tensor whose elements are not in the required order in memory, with sizes and strides in words."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import mul

from dispatchviz.explain.diagnosis.arguments import Argument, arguments, called, diagnosed, named, reference
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import calls_on_line
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, made_by, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, shaped

MOST = 3
"""The number of dimensions whose strides are given in words."""


def view(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``view size is not compatible with input tensor's size and stride``."""
    one = named(arguments(failure), "self")
    if one is None:
        return None
    asked = _asked(failure)
    text = (
        f"{called(failure)} makes a tensor on the same memory, without a copy. {_steps(one)}."
        f"{_repeated(one) or _unmergeable(one, asked)}{_origin(failure, one)}"
    )
    it, wanted = reference(one, "the tensor"), ", ".join(asked)
    begin = it if it == one.name else ""
    here = on_line(failure.trace, failure.raised, text=False)
    fixes = (
        f"Use {begin}.reshape({wanted}) on {here}: it copies the elements if a view is not possible.",
        f"Copy them yourself: {begin}.contiguous().view({wanted}).",
    )
    return diagnosed(failure, Statement("strides: view", text), fixes, (one,))


def _asked(failure: Failure) -> list[str]:
    """Return the requested sizes of ``view``, as written on the line."""
    call = next(calls_on_line(failure, "view"), None)
    return ["..."] if call is None else [ast.unparse(each) for each in call.args]


def _steps(one: Argument) -> str:
    """Return the strides in words: ``y has sizes [3, 2] and strides [1, 3]: a step in dimension 0 goes 1 element
    further, a step in dimension 1 3.``
    """
    steps = [f"a step in dimension {at} goes {_elements(stride)} further" for at, stride in enumerate(one.stride)]
    name = sentence(one.name) if one.name.startswith(("a ", "the ")) else one.name
    words = f": in memory {listed(steps)}" if len(steps) <= MOST else ""
    return f"{name} has sizes {shaped(one.shape)} and strides {shaped(one.stride)}{words}"


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"


def _repeated(one: Argument) -> str:
    """Return a sentence about ``expand``, after which many elements are one in memory."""
    at = next((at for at, stride in enumerate(one.stride) if not stride and one.shape[at] > 1), None)
    return "" if at is None else f" So all {one.shape[at]} elements in dimension {at} are one element in memory."


def _unmergeable(one: Argument, asked: Sequence[str]) -> str:
    """Return a sentence about two dimensions that the view merges, and the stride that the first one would need."""
    sizes = _numbers(asked, one)
    if sizes is None:
        return ""
    ends = set(accumulate(sizes, mul))
    kept = [(at, size, one.stride[at]) for at, size in enumerate(one.shape) if size != 1]
    before = 1
    for (at, size, stride), (after, next_size, next_stride) in pairwise(kept):
        before *= size
        if before not in ends and stride != next_size * next_stride:
            return (
                f" The view makes one dimension of dimensions {at} and {after}: a step in dimension {at} would have "
                f"to go {next_size} * {next_stride} = {_elements(next_size * next_stride)} further."
            )
    return ""


def _numbers(asked: Sequence[str], one: Argument) -> list[int] | None:
    """Return the sizes as numbers, including the one that PyTorch computes, or None if the line has no numbers."""
    try:
        found: list[int] = [int(each) for each in asked]
    except ValueError:
        return None
    count = _product(one.shape)
    known = _product([each for each in found if each != -1])
    return [count // known if each == -1 and known else each for each in found]


def _product(sizes: Sequence[int]) -> int:
    return list(accumulate(sizes, mul, initial=1))[-1]


def _origin(failure: Failure, one: Argument) -> str:
    """Return ``transpose on line 3 (y = x.t()) gave y these strides: it copies no element.``"""
    trace, call = failure.trace, made_by(failure.trace, one.tensor)
    made = index(trace).tensors.get(one.tensor)
    if call is None or made is None or not _is_view(failure, one):
        return ""
    it = "it" if one.name.startswith(("the ", "a ")) else one.name
    return f" {base_name(call)} on {on_line(trace, call.seq)} gave {it} these strides: it copies no element."


def _is_view(failure: Failure, one: Argument) -> bool:
    """Return whether a tensor is on the memory of an argument of the call that made it."""
    known, call = index(failure.trace), made_by(failure.trace, one.tensor)
    made = known.tensors.get(one.tensor)
    if call is None or made is None or made.storage < 0:
        return False
    sources = (known.tensors.get(each) for each in arguments_of(failure.trace, call))
    return any(source is not None and source.storage == made.storage for source in sources)


RULES = (("view size is not compatible with input tensor's size and stride", view),)

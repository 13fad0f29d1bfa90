"""Factors whose sizes do not fit, in a layer or in ``@``: ``mat1 and mat2 shapes cannot be multiplied``."""

from __future__ import annotations

import re
from math import prod

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    applied,
    apposed,
    arguments,
    called,
    diagnosed,
    failed_call,
    list_of,
    module_of,
    named,
    of_call,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.modules import let_take, module_made, shown_module
from dispatchviz.explain.diagnosis.words import base_name, made_by, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import counted, numbered, shaped

FARTHEST = 20
"""The number of calls that are read on the way back to the layer that made an input."""

FACTORS = {"addmm": ("mat1", "mat2"), "addmv": ("mat", "vec"), "baddbmm": ("batch1", "batch2")}
"""Parameters of operators that add something to the product."""


SUBSCRIPT = re.compile(
    r"subscript (\w) has size (\d+) for operand (\d+) which does not broadcast with previously seen size (\d+)"
)


def product(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of two factors whose sizes cannot be multiplied."""
    call, found = failed_call(failure), arguments(failure)
    if call is None or len(found) < 2:
        return None
    operator = base_name(call)
    if operator == "linear":
        return _linear(failure, found[0], found[1])
    first, second = (named(found, name) for name in FACTORS.get(operator, ("", "")))
    return _factors(failure, first or found[0], second or found[1])


# -- a layer ----------------------------------------------------------------------------------------------------------


def _linear(failure: Failure, given: Argument, weight: Argument) -> Diagnosis | None:
    if not given.shape or len(weight.shape) != 2 or given.shape[-1] == weight.shape[-1]:
        return None
    wanted, has = weight.shape[-1], given.shape[-1]
    text = (
        f"{called(failure)} takes {wanted} features, but its input{apposed(given)} has {has}: its "
        f"sizes are {shaped(given.shape)}, those of {weight.name} {shaped(weight.shape)}.{_giver(failure, given)}"
    )
    cause = Statement("shapes: features of a layer", text)
    return diagnosed(failure, cause, _linear_fixes(failure, given, weight), (given, weight))


def _giver(failure: Failure, given: Argument) -> str:
    """Return ``net.0 (Linear) gives 128.``"""
    giver = _layer_before(failure.trace, given)
    return f" {giver} gives {given.shape[-1]}." if giver else ""


def _layer_before(trace: Trace, given: Argument) -> str:
    """Return the layer whose result arrived with the same last size; empty if there is none."""
    tensor = given.tensor
    for _ in range(FARTHEST):
        call = made_by(trace, tensor)
        found = () if call is None else of_call(trace, call)
        weight = named(found, "weight")
        if call is not None and weight is not None and base_name(call) == "linear":
            return shown_module(trace, weight.tensor, call.seq)
        if len(found) != 1 or found[0].shape[-1:] != given.shape[-1:]:
            return ""
        tensor = found[0].tensor
    return ""


def _linear_fixes(failure: Failure, given: Argument, weight: Argument) -> tuple[str, ...]:
    wanted, has = weight.shape[-1], given.shape[-1]
    here, it = on_line(failure.trace, failure.raised, text=False), reference(given, "the input")
    fixes = []
    if len(given.shape) > 2 and prod(given.shape[1:]) == wanted:
        fixes.append(f"Flatten {it} before {here}: {it if it == given.name else 'x'}.flatten(1) has {wanted} features.")
    made = module_made(failure.trace, weight.tensor, failure.raised)
    if module := module_of(failure).partition(" ")[0]:
        made = made if made is not None and made.kind == "Linear" else None
        fixes.append(let_take(module, made, 0, "in_features", has, "feature"))
    elif weight.shape[0] == has:
        fixes.append(f"Pass {applied(weight, 'the weight', '.T')}: linear multiplies by the transpose of its weight.")
    else:
        fixes.append(f"Give {it} and {reference(weight, 'the weight')} the same last size.")
    return tuple(fixes)


# -- two factors ------------------------------------------------------------------------------------------------------


def _factors(failure: Failure, first: Argument, second: Argument) -> Diagnosis | None:
    misfit = _misfit(first, second)
    if not misfit:
        return None
    text = f"{called(failure)} multiplies {first.sized} by {second.sized}: {misfit}."
    return diagnosed(failure, Statement("shapes: factors", text), (_fit(first, second),), (first, second))


def _misfit(first: Argument, second: Argument) -> str:
    """Return the two sizes that differ and must be equal; empty if the factors fit."""
    one, other = first.shape, second.shape
    if not one or not other:
        return f"{(first if not one else second).name} has no dimension"
    inner = other[-2] if len(other) > 1 else other[0]
    if one[-1] != inner:
        left = f"{reference(first, 'the first')} has {numbered(one[-1], 'column' if len(one) > 1 else 'element')}"
        right = f"{reference(second, 'the second')} has {numbered(inner, 'row' if len(other) > 1 else 'element')}"
        return f"{left} and {right}, which must be equal"
    if one[:-2] != other[:-2]:
        return f"the sizes of their batches, {shaped(one[:-2])} and {shaped(other[:-2])}, must be equal"
    return ""


def _fit(first: Argument, second: Argument) -> str:
    """Return a fix with a transposed factor, if it fits."""
    one, other = first.shape, second.shape
    for factor, noun, inner, there in (
        (second, "the second factor", other, one[-1]),
        (first, "the first factor", one, other[-2] if len(other) > 1 else other[0]),
    ):
        kept = inner[-1] if factor is second else inner[-2] if len(inner) > 1 else -1
        if len(inner) > 1 and kept == there and one[:-2] == other[:-2]:
            method = ".T" if len(inner) == 2 else ".transpose(-2, -1)"
            return f"Transpose {reference(factor, noun)}: {applied(factor, noun, method)}."
    return f"Change the sizes of {reference(first, 'the first factor')} or of {reference(second, 'the second factor')}."


def dimensions(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an operator that takes a fixed number of dimensions: ``self must be a matrix``, ``batch2
    must be a 3D tensor``.
    """
    call, found = failed_call(failure), arguments(failure)
    if call is None or len(found) < 2:
        return None
    many = 3 if "3D" in failure.message else 2
    wrong = [each for each in found if len(each.shape) != many]
    if not wrong:
        return None
    operator = base_name(call)
    text = (
        f"{called(failure)} takes tensors with {counted(many, 'dimension')}, but {wrong[0].name} has "
        f"{counted(len(wrong[0].shape), 'dimension')}: {list_of(found)}."
    )
    fix = f"Use matmul (@) instead of {operator}: it takes tensors with any number of dimensions."
    return diagnosed(failure, Statement("shapes: dimensions of a factor", text), (fix,), found)


def einsum(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a subscript of ``einsum`` that has two sizes."""
    match, found = SUBSCRIPT.search(failure.message), arguments(failure)
    if match is None or int(match[3]) >= len(found):
        return None
    letter, one = match[1], found[int(match[3])]
    text = f"{called(failure)} gives the subscript {letter} the size {match[2]} in {one.sized}, but {match[4]} before."
    fix = f"Give the dimensions that share {letter} equal sizes, or use another letter."
    return diagnosed(failure, Statement("shapes: einsum", text), (fix,), found)


RULES = (
    ("which does not broadcast with previously seen size", einsum),
    ("shapes cannot be multiplied", product),
    ("size mismatch, got input", product),
    ("inconsistent tensor size, expected tensor", product),
    ("Expected size for first two dimensions of batch2", product),
    ("must be a matrix", dimensions),
    ("must be a 3D tensor", dimensions),
)

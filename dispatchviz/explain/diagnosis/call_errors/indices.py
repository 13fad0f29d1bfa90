"""Indices that a tensor does not have, too many indices, masks and index tensors of other sizes."""

from __future__ import annotations

import ast
import re

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    applied,
    apposed,
    arguments,
    called,
    diagnosed,
    failed_call,
    module_of,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import subscripts
from dispatchviz.explain.diagnosis.silent.recorded_numbers import short
from dispatchviz.explain.diagnosis.words import base_name, begun, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.tensor_numbers import numbers_of
from dispatchviz.foundation.english import counted, shaped

BOUNDS = re.compile(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
MASK = re.compile(r"shape of the mask (\[.*?\]) at index (\d+) does not match the shape of the indexed tensor")
MANY = re.compile(r"too many indices for tensor of dimension (\d+)")
LARGER = re.compile(r"at dimension (\d+) expected index")

INDEX = ("index", "indices", "indices[0]")


def values_of(failure: Failure, one: Argument) -> tuple[str, str]:
    """Return the values of a tensor as a sentence, and the part that is unknown. One of the two is empty."""
    numbers = short(numbers_of(failure.trace, one.tensor, failure.raised))
    known = f" {begun(one.name)} has {numbers}." if numbers else ""
    return known, "" if known else f"The recording does not have the values of {one.name}."


def bounds(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an index outside the range of a dimension, in ``x[i]``, ``gather``, ``scatter`` or an
    index tensor.
    """
    numbers, found = BOUNDS.search(failure.message), arguments(failure)
    if numbers is None:
        return None
    value, dim, size = (int(each) for each in numbers.groups())
    one, given = named(found, "self"), named(found, *INDEX)
    if failed_call(failure) is None or given is None:
        return _subscript(failure, value, dim, size)
    if one is None or len(one.shape) <= dim or one.shape[dim] != size:
        return None
    text = (
        f"{called(failure)} gets the index {value} in {given.name}, but {one.sized} has size {size} in dimension "
        f"{dim}: {_range(size).partition(', or')[0]}."
    )
    fix = f"Correct the index {value} in {reference(given, 'the indices')}, or use another dimension than {dim}."
    return diagnosed(failure, Statement("indices: out of bounds", text), (fix,), (one, given))


def _range(size: int) -> str:
    if size < 2:
        return "the only index is 0, or -1" if size else "there is no index"
    return f"indices count from 0 to {size - 1}, or backwards from -1 to {-size}"


def _subscript(failure: Failure, value: int, dim: int, size: int) -> Diagnosis | None:
    """Return the diagnosis of an index in a subscript: ``x[3]``."""
    fitting = [(node, one) for node, one in subscripts(failure) if len(one.shape) > dim and one.shape[dim] == size]
    where = on_line(failure.trace, failure.raised)
    if len(fitting) != 1:
        return None
    node, one = fitting[0]
    written = ast.unparse(node)
    given = f" with the index {value}" if str(value) not in written else ""
    text = (
        f"{written} on {where} does not exist{given}: {one.sized} has size {size} in dimension {dim}, and "
        f"{_range(size)}."
    )
    fix = f"Run the index from 0 to {size - 1}." if given else f"Use an index from 0 to {size - 1}."
    return diagnosed(failure, Statement("indices: x[i] out of bounds", text), (fix,), (one,))


def in_table(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``index out of range in self``: an embedding, or an operator that takes an index
    tensor.
    """
    found, call = arguments(failure), failed_call(failure)
    table, given = named(found, "weight", "self"), named(found, *INDEX)
    if table is None or given is None or call is None or not table.shape:
        return None
    if base_name(call).startswith("embedding"):
        rows = table.shape[0]
        text = (
            f"{called(failure)} looks up {given.name} in {table.sized}, which has {counted(rows, 'row')}"
            f"{f', 0 to {rows - 1}' if rows > 1 else ''}: a value of {given.name} is not among them."
        )
        fixes = _embedding_fixes(failure, given, rows)
    else:
        text = f"{called(failure)} gets an index in {given.name} that {table.sized} does not have."
        fixes = (f"Look at {applied(given, 'the indices', '.max()')}: each index must be less than the size.",)
    values, unseen = values_of(failure, given)
    cause = Statement("indices: not in the table", text + values)
    return diagnosed(failure, cause, fixes, (table, given))._replace(unseen=unseen)


def _embedding_fixes(failure: Failure, given: Argument, rows: int) -> tuple[str, ...]:
    module, it = module_of(failure).partition(" ")[0] or "the table", reference(given, "the indices")
    most = f"{applied(given, 'the indices', '.max()')} must be at most {rows - 1}"
    return (f"Give {module} a row for each value of {it}: {most}, and none may be negative.",)


def too_many(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of more indices than dimensions."""
    number = MANY.search(failure.message)
    fitting = [(node, one) for node, one in subscripts(failure) if number and len(one.shape) == int(number[1])]
    if number is None or not fitting:
        return None
    node, one = fitting[0]
    many = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    text = (
        f"{ast.unparse(node)} on {on_line(failure.trace, failure.raised)} has {counted(many, 'index', 'indices')}, but "
        f"{one.sized} has {counted(len(one.shape), 'dimension')}."
    )
    fix = f"Use at most {counted(len(one.shape), 'index', 'indices')}, or give {one.name} another dimension."
    return diagnosed(failure, Statement("indices: too many", text), (fix,), (one,))


def mask(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a bool mask whose sizes differ from those of the tensor that it indexes."""
    found, match = arguments(failure), MASK.search(failure.message)
    one = named(found, "self")
    given = next((each for each in found if match and shaped(each.shape) == match[1] and each is not one), None)
    if one is None or given is None:
        return None
    which = f"with the mask{apposed(given)} {shaped(given.shape)}"
    text = f"{called(failure)} chooses from {one.sized} {which}: their sizes must be equal."
    fix = f"Compute {reference(given, 'the mask')} from {reference(one, 'the tensor')}, or from a tensor of its sizes."
    return diagnosed(failure, Statement("indices: mask", text), (fix,), (one, given))


def index_shapes(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of index tensors that cannot be broadcast with each other."""
    found = arguments(failure)
    given = [each for each in found if each.parameter.startswith("indices[")]
    if len(given) < 2:
        return None
    text = (
        f"{called(failure)} takes one element for each pair of indices, but {given[0].sized} and {given[1].sized} "
        f"have no common sizes."
    )
    added = applied(given[0], "the first index", "[:, None]")
    fix = f"For all combinations add a dimension: {added}; for pairs use index tensors of equal sizes."
    return diagnosed(failure, Statement("indices: shapes of index tensors", text), (fix,), found)


def dimensions(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``gather`` or ``scatter`` with an index of another number of dimensions, or of a larger
    size.
    """
    found = arguments(failure)
    one, given = named(found, "self"), named(found, "index")
    if one is None or given is None:
        return None
    rule = (
        f"the index must be no larger in dimension {larger[1]}"
        if (larger := LARGER.search(failure.message)) is not None
        else "both must have the same number of dimensions"
    )
    text = f"{called(failure)} takes {given.sized} as index of {one.sized}: {rule}."
    it = reference(given, "the index")
    if larger is None and len(given.shape) == len(one.shape) - 1:
        added = applied(given, "the index", ".unsqueeze(-1)")
        fix = f"Add a dimension: {added} has sizes {shaped((*given.shape, 1))}."
    else:
        fix = f"Give {it} as many dimensions as {reference(one, 'the tensor')}, with sizes that are no larger."
    return diagnosed(failure, Statement("indices: shape of the index", text), (fix,), (one, given))


def one_hot(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a class that is too large for ``one_hot``."""
    one = named(arguments(failure), "self")
    if one is None:
        return None
    text = (
        f"{called(failure)} makes a vector for each class in {one.name}, and one of them is too large for num_classes."
    )
    fix = f"Pass a num_classes larger than {applied(one, 'the tensor', '.max()')}, or leave it out."
    values, unseen = values_of(failure, one)
    return diagnosed(failure, Statement("indices: one_hot", text + values), (fix,), (one,))._replace(unseen=unseen)


RULES = (
    ("is out of bounds for dimension", bounds),
    ("index out of range in self", in_table),
    ("too many indices for tensor", too_many),
    ("The shape of the mask", mask),
    ("indexing tensors could not be broadcast", index_shapes),
    ("Index tensor must have the same number of dimensions", dimensions),
    ("expected index", dimensions),
    ("Class values must be smaller than num_classes", one_hot),
)

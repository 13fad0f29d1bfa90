"""Losses whose targets do not fit: classes out of range, another number of samples, a dimension too many."""

from __future__ import annotations

import re
from typing import NamedTuple

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    applied,
    apposed,
    arguments,
    called,
    created,
    diagnosed,
    list_of,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import tensors_on_line
from dispatchviz.explain.diagnosis.words import on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import numbered, shaped

TARGET = re.compile(r"Target (-?\d+) is out of bounds")
BATCH = re.compile(r"input batch_size \((\d+)\) to match target batch_size \((\d+)\)")


SIZES = re.compile(r"target size \(torch\.Size\(\[(.*?)\]\)\).*input size \(torch\.Size\(\[(.*?)\]\)\)")


class Loss(NamedTuple):
    """The two tensors that a loss compares."""

    given: Argument
    target: Argument


def _loss(failure: Failure) -> Loss | None:
    found = arguments(failure)
    given, target = named(found, "self", "input"), named(found, "target")
    return None if given is None or target is None else Loss(given, target)


def class_out_of_range(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a target that is not a class."""
    number, loss = TARGET.search(failure.message), _loss(failure)
    if number is None or loss is None or not loss.given.shape:
        return None
    given, target = loss
    at = 1 if len(given.shape) > 1 else 0
    classes, value = given.shape[at], int(number[1])
    text = (
        f"{called(failure)} gets targets{apposed(target)} with the class {value}, but {given.sized} has {classes} "
        f"classes, in dimension {at}, numbered 0 to {classes - 1}."
    )
    fixes = [_last_layer(value)] if value >= classes else ["Leave such targets out with ignore_index."]
    if value == classes:
        fixes.insert(0, f"If the classes in {reference(target, 'the targets')} count from 1, subtract 1.")
    made = created(failure, target)
    if made and value != classes:
        fixes.insert(0, f"Correct the class {value} in {reference(target, 'the targets')}, made on {made}.")
    return diagnosed(failure, Statement("indices: class out of range", text), tuple(fixes), loss)


def _last_layer(value: int) -> str:
    return f"If {value} is a class, let the model's last layer return at least {value + 1} numbers for each sample."


def batches(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of predictions and targets with different numbers of samples."""
    sizes, loss = BATCH.search(failure.message), _loss(failure)
    if sizes is None or loss is None:
        return None
    compared = f"{numbered(int(sizes[1]), 'prediction')} with {numbered(int(sizes[2]), 'target')}"
    text = f"{called(failure)} compares {compared}, and each prediction needs one: {list_of(loss)}."
    given, target = (reference(each, noun) for each, noun in zip(loss, ("the predictions", "the targets"), strict=True))
    fix = f"Give {given} and {target} the same first size."
    return diagnosed(failure, Statement("shapes: samples of a loss", text), (fix,), loss)


def many_targets(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of targets with too many dimensions."""
    loss = _loss(failure)
    if loss is None or len(loss.target.shape) < 2:
        return None
    given, target = loss
    text = (
        f"{called(failure)} takes one class for each of the {given.shape[0]} samples of {given.sized}, but "
        f"{target.name} has {len(target.shape)} dimensions, {shaped(target.shape)}."
    )
    it = reference(target, "the targets")
    if target.shape[1:] == (1,):
        removed = applied(target, "the targets", ".squeeze(1)")
        fix = f"Remove the last dimension: {removed} has sizes {shaped(target.shape[:1])}."
    elif target.shape == given.shape:
        classes, floats = (applied(target, "the targets", method) for method in (".argmax(1)", ".float()"))
        fix = f"If {it} has one number for each class (one-hot), pass {classes}, or {floats} for probabilities."
    else:
        fix = f"Give {it} sizes {shaped(given.shape[:1])}."
    return diagnosed(failure, Statement("shapes: targets with many dimensions", text), (fix,), loss)


def target_size(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of targets of a sequence or image whose sizes differ from those of the predictions."""
    loss = _loss(failure)
    if loss is None or len(loss.given.shape) < 3:
        return None
    given, target = loss
    wanted = (given.shape[0], *given.shape[2:])
    text = (
        f"{called(failure)} takes the classes of {given.sized} from dimension 1 ({given.shape[1]} classes), so it "
        f"needs targets with sizes {shaped(wanted)}; {target.name} has {shaped(target.shape)}."
    )
    moved = (given.shape[0], *given.shape[1:-1])
    if moved == target.shape:
        fix = f"Put the classes into dimension 1: {applied(given, 'the predictions', '.movedim(-1, 1)')}."
    else:
        fix = f"Give {reference(target, 'the targets')} sizes {shaped(wanted)}."
    return diagnosed(failure, Statement("shapes: targets of a sequence", text), (fix,), loss)


def equal_sizes(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a loss that checks in Python that both sizes are equal."""
    sizes = SIZES.search(failure.message)
    if sizes is None:
        return None
    shapes = [shaped(each) for each in (_shape(sizes[2]), _shape(sizes[1]))]
    found = tensors_on_line(failure)
    pair = [next((each for each in found if shaped(each.shape) == shape), None) for shape in shapes]
    names = [one.name if one is not None else noun for one, noun in zip(pair, ("the input", "the target"), strict=True)]
    where = on_line(failure.trace, failure.raised)
    text = (
        f"{sentence(where)} compares {names[0]} with sizes {shapes[0]} and {names[1]} with sizes {shapes[1]}: this "
        "loss accepts only equal sizes."
    )
    many = _shape(sizes[2]), _shape(sizes[1])
    small = 0 if len(many[0]) < len(many[1]) else 1
    if (*many[small], 1) == many[1 - small]:
        lacking = names[small]
        added = f"{lacking}.unsqueeze(-1)" if pair[small] is not None else f".unsqueeze(-1) of {lacking}"
        fix = f"Add the last dimension: {added} has sizes {shapes[1 - small]}."
    else:
        fix = f"Give {names[0]} and {names[1]} the same sizes."
    return diagnosed(
        failure, Statement("shapes: sizes of a loss", text), (fix,), [each for each in pair if each is not None]
    )


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each.strip())


RULES = (
    ("that is different to the input size", equal_sizes),
    (" is out of bounds.", class_out_of_range),
    ("to match target batch_size", batches),
    ("multi-target not supported", many_targets),
    ("Expected target size", target_size),
    ("size mismatch (got input:", target_size),
)

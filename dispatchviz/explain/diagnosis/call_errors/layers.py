"""Inputs that a layer cannot take: channels, dimensions, kernels and features."""

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
    module_of,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import calls_on_line, tensors_on_line
from dispatchviz.explain.diagnosis.modules import Made, let_take, module_made
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import numbered, shaped

CHANNELS = re.compile(r"to have (\d+) channels, but got (\d+) channels")
KERNEL = re.compile(r"input size per channel: \((.*?)\)\. Kernel size: \((.*?)\)")
ELEMENTS = re.compile(r"(\w+) should contain (\d+) elements not (\d+)")
NORMALIZED = re.compile(r"Given normalized_shape=(\[.*?\])")
FEATURES = re.compile(r"(?:Expected|dimension of) (\d+), (?:but )?got (\d+)")
UNBATCHED = re.compile(r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input")


def channels(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a convolution whose input has another number of channels."""
    sizes, found = CHANNELS.search(failure.message), arguments(failure)
    given, weight = named(found, "input"), named(found, "weight")
    if sizes is None or given is None or weight is None:
        return None
    at = len(given.shape) - len(weight.shape) + 1
    text = (
        f"{called(failure)} takes {numbered(int(sizes[1]), 'channel')}, but its input{apposed(given)} has {sizes[2]}, "
        f"in dimension {at}: it has sizes {shaped(given.shape)}, and {weight.name} {shaped(weight.shape)}."
    )
    fixes = (*_moved(given, at, int(sizes[1])), *_changed(failure, weight, int(sizes[2]), "in_channels", "channel"))
    return diagnosed(failure, Statement("shapes: channels of a convolution", text), fixes, (given, weight))


def _moved(given: Argument, at: int, wanted: int) -> tuple[str, ...]:
    """Return a fix for channels in the last dimension."""
    last = len(given.shape) - 1
    if at < 0 or given.shape[last] != wanted:
        return ()
    order = (*range(at), last, *range(at, last))
    moved = shaped([given.shape[place] for place in order])
    move = applied(given, "the input", f".movedim(-1, {at})")
    return (f"If the last dimension holds the channels, move it: {move} has sizes {moved}.",)


def _changed(failure: Failure, weight: Argument, has: int, keyword: str, what: str) -> tuple[str, ...]:
    """Return a fix with the module's line and the number that its input has."""
    made, module = module_made(failure.trace, weight.tensor, failure.raised), module_of(failure).partition(" ")[0]
    made = made if made is not None and _takes(made) else None
    return (let_take(module or "it", made, 0, keyword, has, what),)


def _takes(made: Made) -> bool:
    """Return whether the first argument of a PyTorch class is the number of channels or features."""
    return made.kind.startswith(("Conv", "BatchNorm", "InstanceNorm"))


def unbatched(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a convolution or pooling whose input has too few or too many dimensions."""
    many, found = UNBATCHED.search(failure.message), arguments(failure)
    given = named(found, "input", "self")
    if many is None or given is None:
        return None
    text = (
        f"{called(failure)} takes inputs with {many[1]} dimensions (channels first), or with {many[2]} (batch first, "
        f"then channels). Its input{apposed(given)} has {len(given.shape)}: sizes {shaped(given.shape)}."
    )
    fix = f"Reshape {reference(given, 'the input')} to {many[1]} or {many[2]} dimensions."
    if len(given.shape) == int(many[1]) - 1:
        fix = _with_channels(given, named(found, "weight"))
    return diagnosed(failure, Statement("shapes: dimensions of a layer's input", text), (fix,), (given,))


def _with_channels(given: Argument, weight: Argument | None) -> str:
    """Return a fix with a dimension for the channels. If the layer takes one channel, ``unsqueeze`` adds it."""
    one = f"{applied(given, 'the input', '.unsqueeze(0)')} has sizes {shaped((1, *given.shape))}"
    if weight is None or weight.shape[1] == 1:
        return f"Add a dimension for the channel: {one}."
    return (
        f"Give {reference(given, 'the input')} a first dimension with as many channels as the layer takes, at least "
        f"{weight.shape[1]}. {one}, but one channel is too few."
    )


def kernel(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a convolution whose kernel is larger than its padded input."""
    sizes, found = KERNEL.search(failure.message), arguments(failure)
    given, weight = named(found, "input"), named(found, "weight")
    if sizes is None or given is None or weight is None:
        return None
    text = (
        f"{called(failure)} has a kernel of {sizes[2]}, but its padded input{apposed(given)} is only {sizes[1]}. The "
        f"input has sizes {shaped(given.shape)}."
    )
    fix = f"Give {module_of(failure).partition(' ')[0] or 'it'} a smaller kernel or more padding, or larger inputs."
    return diagnosed(failure, Statement("shapes: kernel larger than its input", text), (fix,), (given, weight))


def batch_norm(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a normalization over channels whose input has another number of channels."""
    sizes, found = ELEMENTS.search(failure.message), arguments(failure)
    given, kept = named(found, "input"), named(found, sizes[1]) if sizes is not None else None
    if sizes is None or given is None or kept is None:
        return None
    text = (
        f"{called(failure)} normalizes {numbered(int(sizes[3]), 'channel')}, but its input{apposed(given)} has "
        f"{sizes[2]}, in dimension 1: it has sizes {shaped(given.shape)}, and {kept.name} {shaped(kept.shape)}."
    )
    fixes = _changed(failure, kept, int(sizes[2]), "num_features", "channel")
    return diagnosed(failure, Statement("shapes: channels of a normalization", text), fixes, (given, kept))


def layer_norm(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a normalization over the last dimensions whose input has other sizes there."""
    sizes, found = NORMALIZED.search(failure.message), arguments(failure)
    given = named(found, "input")
    if sizes is None or given is None:
        return None
    many = sizes[1].count(",") + 1
    last = shaped(given.shape[-many:])
    text = (
        f"{called(failure)} normalizes inputs whose last sizes are {sizes[1]}; those of its input{apposed(given)} are "
        f"{last}: it has sizes {shaped(given.shape)}."
    )
    fix = f"Give {module_of(failure).partition(' ')[0] or 'it'} the normalized_shape {last}, or change its input."
    return diagnosed(failure, Statement("shapes: layer norm", text), (fix,), found)


def features(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a recurrent or attention layer, which checks its input in Python."""
    sizes = FEATURES.search(failure.message)
    if sizes is None:
        return None
    given = next((each for each in tensors_on_line(failure) if each.shape[-1:] == (int(sizes[2]),)), None)
    call = next((each for each in calls_on_line(failure) if given and given.name in map(ast.unparse, each.args)), None)
    module = ast.unparse(call.func) if call is not None else "The layer"
    name = given.name if given is not None else "its input"
    text = (
        f"{module} on {on_line(failure.trace, failure.raised)} takes inputs whose last size is {sizes[1]}, but that "
        f"of {name} is {sizes[2]}{f': it has sizes {shaped(given.shape)}' if given is not None else ''}."
    )
    fix = f"Create {module if call is not None else 'the layer'} for inputs of size {sizes[2]}, or change {name}."
    return diagnosed(
        failure, Statement("shapes: features of a recurrent layer", text), (fix,), (given,) if given else ()
    )


RULES = (
    ("input.size(-1) must be equal to input_size", features),
    ("was expecting embedding dimension of", features),
    ("channels, but got", channels),
    ("(unbatched) or", unbatched),
    ("Kernel size can't be greater than actual input size", kernel),
    (" should contain ", batch_norm),
    ("Given normalized_shape=", layer_norm),
)

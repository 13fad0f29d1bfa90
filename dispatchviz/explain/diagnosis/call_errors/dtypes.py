"""Arguments whose dtypes differ or do not fit the operator."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    arguments,
    called,
    created,
    diagnosed,
    fact,
    failed_call,
    list_of,
    module_of,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import base_name, on_line
from dispatchviz.explain.sentences.statement import Statement

CAST = re.compile(r"result type (\w+) can't be cast to the desired output type (\w+)")

PARAMETERS = ("weight", "bias")

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")

NAMES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"} | {
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
    "ComplexFloat": "complex64", "ComplexDouble": "complex128", "ComplexHalf": "complex32",
}  # fmt: skip
"""The names of ``ScalarType`` in messages, with those in programs."""

INDICES = ("index", "indices", "indices[0]", "indices[1]", "indices[2]")


PAIRS = (
    re.compile(r"mat1 and mat2 must have the same dtype, but got (\w+) and (\w+)"),
    re.compile(r"expected m1 and m2 to have the same dtype, but got: ([\w:<>]+) != ([\w:<>]+)"),
    re.compile(r"expected both vectors to have same dtype, but found (\w+) and (\w+)"),
    re.compile(r"Input type \(torch\.(?:cuda\.)?(\w+?)Tensor\) and weight type \(torch\.(?:cuda\.)?(\w+?)Tensor\)"),
    re.compile(r"Input type \(([\w:<> ]+)\) and bias type \(([\w:<> ]+)\)"),
)
"""Messages with the dtypes of the first two arguments in order. The bias has the dtype of the weight."""

C_NAMES = {"float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16"} | {
    "long": "int64", "int": "int32", "short": "int16", "signed char": "int8", "unsigned char": "uint8",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
}  # fmt: skip
"""The C++ names of dtypes."""


def differing(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of arguments that have two dtypes and must have one."""
    found = _as_said(failure, [each for each in arguments(failure) if each.parameter not in INDICES])
    dtypes, of_message = {each.dtype for each in found}, _in_message(failure.message)
    if len(dtypes) < 2 or (len(of_message) == 2 and dtypes != of_message):
        return None
    text = f"{called(failure)} takes arguments of one dtype, but {list_of(_few(found), 'dtypes')}."
    return diagnosed(failure, Statement("dtypes: arguments differ", text), (_one_dtype(failure, found),), found)


def _as_said(failure: Failure, found: list[Argument]) -> list[Argument]:
    """Return the arguments with the dtypes in the message, because a recording may not have the setting of ``.data``.

    The bias of a layer has the dtype of the weight, as far as the message shows.
    """
    pair = next((match for each in PAIRS if (match := each.search(failure.message)) is not None), None)
    if pair is None or len(found) < 2:
        return found
    first, second = (NAMES.get(each) or C_NAMES.get(each, "") for each in pair.groups())
    at = 1 if found[0].parameter == "self" and found[1].parameter == "mat1" else 0
    if not first or not second or len(found) < at + 2:
        return found
    said_ones = [found[at]._replace(dtype=first), found[at + 1]._replace(dtype=second)]
    return [*found[:at], *said_ones, *(each for each in found[at + 2 :] if each.parameter != "bias")]


def _in_message(message: str) -> set[str]:
    """Return the dtypes that a message names in the form of ``ScalarType``."""
    return {NAMES[word] for word in re.findall(r"\w+", message) if word in NAMES}


def _few(found: Sequence[Argument]) -> list[Argument]:
    """Return one argument of each dtype."""
    return list({each.dtype: each for each in reversed(found)}.values())[::-1]


def _one_dtype(failure: Failure, found: Sequence[Argument]) -> str:
    """Return a fix that converts the input to the dtype of the parameters, or else the others to the first floating
    point dtype.
    """
    weight = next((each for each in found if each.parameter in PARAMETERS), None)
    to = weight or next((each for each in found if each.dtype in FLOATS), found[0])
    other = next(each for each in found if each.dtype != to.dtype)
    noun = {"values": "the value", "src": "the source", "target": "the target"}.get(other.parameter, "the input")
    it, made = reference(other, noun), created(failure, other)
    here = on_line(failure.trace, failure.raised, text=False)
    owner = weight is not None and module_of(failure)
    of = f", the dtype of {owner}" if owner else f", as {to.name}" if to.name == reference(to, "") else ""
    if "torch.tensor" in other.name:
        return f"Create {it} with dtype=torch.{to.dtype}{of}{',' * bool(of)} on {made}."
    converted = f"{it if it == other.name else ''}.to(torch.{to.dtype})"
    if it != other.name or other.dtype in FLOATS or other.dtype == "bool" or not made:
        return f"Convert {it} to {to.dtype}{of}{',' * bool(of)} on {here}: {converted}."
    return f"Create {it} as {to.dtype}{of}{',' * bool(of)} on {made}, or convert it: {converted}."


def in_place(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an in-place operator whose result has another dtype than the tensor that it writes to."""
    cast, found, call = CAST.search(failure.message), arguments(failure), failed_call(failure)
    to = named(found, "self")
    if cast is None or to is None or call is None:
        return None
    if not base_name(call).endswith("_"):
        return differing(failure)
    result = NAMES.get(cast[1], cast[1])
    others = [each for each in found if each is not to]
    with_other = f" and {fact(others[0], 'dtypes')}" if others else ""
    text = (
        f"{called(failure)} writes in place into {to.name}: {fact(to, 'dtypes')}{with_other}, so the result is "
        f"{result}, which {to.dtype} cannot hold."
    )
    made, it, operator = created(failure, to), reference(to, "the tensor"), base_name(call).rstrip("_")
    fixes = [f"Create {it} as {result} on {made}."] if made and it == to.name else []
    fixes.append(
        f"Compute a new tensor instead of {operator}_ on {on_line(failure.trace, failure.raised, text=False)}."
    )
    return diagnosed(failure, Statement("dtypes: result of an in-place operator", text), tuple(fixes), found)


def _wrong(
    kind: Callable[[str], Statement], parameters: Sequence[str], wanted: str, convert: str
) -> Callable[[Failure], Diagnosis | None]:
    """Return a rule for an argument with the wrong dtype."""

    def rule(failure: Failure) -> Diagnosis | None:
        found = arguments(failure)
        one = named(found, *parameters) if parameters else found[0] if found else None
        if one is None:
            return None
        made, it = created(failure, one), reference(one, "the tensor")
        what = {"target": "targets", "mask": "a mask"}.get(parameters[0], "indices") if parameters else "tensors"
        text = f"{called(failure)} takes {what} of {wanted}, but {fact(one, 'dtypes')}."
        where = f", or create it so on {made}" if made and it == one.name else ""
        fix = f"Convert {it}: {it if it == one.name else ''}{convert}{where}."
        return diagnosed(failure, kind(text), (fix,), (one,))

    return rule


indices = _wrong(lambda text: Statement("dtypes: indices", text), INDICES, "dtype int64 or int32", ".long()")
targets = _wrong(lambda text: Statement("dtypes: targets", text), ("target",), "dtype int64 (class indices)", ".long()")
masks = _wrong(lambda text: Statement("dtypes: mask", text), ("mask", "condition"), "dtype bool", ".bool()")
floating = _wrong(
    lambda text: Statement("dtypes: floating point", text), (), "a floating point or complex dtype", ".float()"
)


def boolean(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of arithmetic that PyTorch does not support for bool tensors."""
    found, call = arguments(failure), failed_call(failure)
    if not found or call is None:
        return None
    text = f"{called(failure)} does not take bool tensors: {list_of(found, 'dtypes')}."
    fix = (
        "Use ~ to invert a mask."
        if "invert a mask" in failure.message
        else "Use ^ for masks, or convert both to int64 first."
    )
    return diagnosed(failure, Statement("dtypes: arithmetic of bool", text), (fix,), found)


RULES = (
    ("must have the same dtype", differing),
    ("to have the same dtype", differing),
    ("both vectors to have same dtype", differing),
    ("should be the same", differing),
    ("can't be cast to the desired output type", in_place),
    ("expected scalar type", differing),
    ("Found dtype", differing),
    ("Expected self.dtype to be equal to src.dtype", differing),
    ("requires the source and destination dtypes match", differing),
    ("used as indices must be long", indices),
    ("Expected tensor for argument #1 'indices'", indices),
    ("Expected dtype int32/int64 for index", indices),
    ("Expected dtype int32 or int64 for index", indices),
    ("only supports boolean masks", masks),
    ("expected condition to be a boolean tensor", masks),
    ("expected predicate to be bool", masks),
    ("expected target dtype to be Long", targets),
    ("could not infer output dtype", floating),
    ("Expected a floating point or complex tensor", floating),
    ("on a bool tensor is not supported", boolean),
    ("with two bool tensors is not supported", boolean),
    ("with a bool tensor is not supported", boolean),
)

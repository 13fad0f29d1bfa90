"""Errors of functorch: Python numbers, control flow and writes under vmap, gradients of several numbers."""

from __future__ import annotations

import ast
import re

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.arguments import (
    arguments,
    called,
    diagnosed,
    failed_call,
    is_batched,
    named,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import calls_on_line
from dispatchviz.explain.diagnosis.words import article, base_name, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import counted

DIMS = re.compile(r"got tensor with (\d+) dims")
GOT = re.compile(r"got <class '(\w+)'>")
SIZES = re.compile(r"got sizes (\[.*?\]) for the mapped dimension")
IN_DIM = re.compile(r"Got in_dim=(-?\d+) for some input, but that input is a Tensor of dimensionality (\d+)")
RETURNED = re.compile(r"`(.*?)` must only return Tensors, got type <class '(\w+)'>")


def _under(failure: Failure) -> str:
    """Return the line that called the function: ``, which vmap calls on line 4 (...)``."""
    line = failure.line
    caller = failure.trace[line.caller] if line is not None and line.caller is not None else None
    where = on_line(failure.trace, caller.seq) if isinstance(caller, ev.SourceLine) else ""
    return f", which vmap calls on {where}," if where else " under vmap"


def item(failure: Failure) -> Diagnosis:
    """Return the diagnosis of ``.item()`` on a tensor that has one value for each sample."""
    call = next(calls_on_line(failure, "item"), None)
    name = ast.unparse(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else "a tensor"
    text = (
        f"{sentence(on_line(failure.trace, failure.raised))}{_under(failure)} asks for {name} as one Python number, "
        f"but under vmap this tensor has one value for each sample."
    )
    fix = "Remove .item() and compute with the tensor itself."
    return diagnosed(failure, Statement("vmap: item", text), (fix,))


def control_flow(failure: Failure) -> Diagnosis:
    """Return the diagnosis of ``if`` or ``while`` with a tensor under vmap."""
    text = (
        f"{sentence(on_line(failure.trace, failure.raised))}{_under(failure)} chooses a branch by a tensor, but under "
        f"vmap this tensor has one value for each sample, and Python can take only one branch."
    )
    fix = "Compute both branches and choose with torch.where(condition, a, b)."
    return diagnosed(failure, Statement("vmap: control flow", text), (fix,))


def in_place(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write of a batched value to a tensor that vmap does not batch."""
    found, call = arguments(failure), failed_call(failure)
    to = named(found, "self")
    value = next((each for each in found if each is not to and is_batched(each)), None)
    if to is None or call is None or value is None or is_batched(to):
        return None
    text = (
        f"{called(failure)}{_under(failure)} writes in place into {to.sized}, which vmap does not batch: it is one "
        f"tensor for all samples, but each sample has another value to write."
    )
    operator, it = base_name(call).rstrip("_"), reference(to, "the tensor")
    fix = f"Compute a new tensor: {operator} instead of {operator}_; or pass {it} as an input that vmap maps (in_dims)."
    return diagnosed(failure, Statement("vmap: in place", text), (fix,), (to,))


def randomness(failure: Failure) -> Diagnosis:
    """Return the diagnosis of random numbers under a vmap that does not set ``randomness``."""
    text = (
        f"{called(failure)}{_under(failure)} draws random numbers, but the call of vmap does not say whether all "
        f"samples get the same ones."
    )
    fix = "Call vmap(..., randomness='different') for other numbers in each sample, or 'same' for the same."
    return diagnosed(failure, Statement("vmap: random numbers", text), (fix,))


def dynamic(failure: Failure) -> Diagnosis:
    """Return the diagnosis of an operator whose result has a size that depends on the values."""
    text = (
        f"{called(failure)}{_under(failure)} returns a result whose size depends on the values, so each sample may "
        "have another size."
    )
    fix = "Keep all elements and choose with torch.where(mask, x, 0), or do the selection outside of vmap."
    return diagnosed(failure, Statement("vmap: dynamic sizes", text), (fix,))


def sizes(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of inputs of vmap with different numbers of samples."""
    got = SIZES.search(failure.message)
    if got is None:
        return None
    text = (
        f"{sentence(on_line(failure.trace, failure.raised))} maps inputs over dimensions with the sizes {got[1]}: all "
        f"must have the same number of samples."
    )
    fix = "Pass in_dims=None for an input that is the same for all samples, or the dimension that holds the samples."
    return diagnosed(failure, Statement("vmap: numbers of samples", text), (fix,))


def in_dim(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a dimension for vmap that an input does not have."""
    got = IN_DIM.search(failure.message)
    if got is None:
        return None
    where, dimensions = sentence(on_line(failure.trace, failure.raised)), int(got[2])
    text = f"{where} maps dimension {got[1]} of an input that has {counted(dimensions, 'dimension')}."
    choice = {0: "", 1: "Pass 0 in in_dims for this input. "}.get(
        dimensions, f"Pass 0 to {dimensions - 1} in in_dims for this input. "
    )
    fix = f"{choice}Pass None in in_dims for an input that is the same for all samples."
    return diagnosed(failure, Statement("vmap: in_dims", text), (fix,))


def returned(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a function under vmap that does not return a tensor."""
    got = RETURNED.search(failure.message)
    if got is None:
        return None
    text = (
        f"{got[1]}, which vmap calls on {_outer(failure)}, returns {_value(got[2])}{_return_line(failure, got[1])}, "
        f"but vmap stacks tensors."
    )
    of_number = ": torch.tensor(value) of a number" if got[2] in ("bool", "int", "float", "complex") else ""
    fix = f"Return tensors only{of_number}."
    return diagnosed(failure, Statement("vmap: returns no tensor", text), (fix,))


def scalar(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``grad`` of a function that does not return one number."""
    dims, got, name = DIMS.search(failure.message), GOT.search(failure.message), _differentiated(failure)
    if dims is None and got is None:
        return None
    what = f"a tensor with {counted(int(dims[1]), 'dimension')}" if dims is not None else _value(got[1] if got else "")
    text = (
        f"{name or 'The function'}, which grad differentiates on {_outer(failure)}, returns {what}"
        f"{_return_line(failure, name)}, but a gradient needs one number, a tensor without dimensions."
    )
    if dims is not None:
        fixes: tuple[str, ...] = (
            "Return one number, for example its sum() or mean().",
            "Use jacrev for the derivatives of each number.",
        )
    elif got is not None and got[1] == "tuple":
        fixes = ("Pass has_aux=True if the second value is not to be differentiated.",)
    else:
        fixes = ("Return a tensor that is computed from the inputs.",)
    return diagnosed(failure, Statement("grad: no scalar", text), fixes)


def _value(kind: str) -> str:
    """Return the name of a type with its article: ``an int``, ``None``."""
    return "None" if kind == "NoneType" else f"{article(kind)} {kind}"


def _outer(failure: Failure) -> str:
    """Return the line at which the error left the program."""
    steps = failure.trace.steps_of(ev.SourceLine)
    for step in reversed(steps[-400:]):
        line = failure.trace[step]
        if isinstance(line, ev.SourceLine) and (line.file, line.line) == (failure.file, failure.number):
            return on_line(failure.trace, step)
    return f"line {failure.number}"


def _differentiated(failure: Failure) -> str:
    """Return the function that is differentiated: ``f`` for ``grad(f)(x)`` on the line at which the error left the
    program.
    """
    names = {
        each.args[0].id for each in calls_on_line(failure, "grad") if each.args and isinstance(each.args[0], ast.Name)
    }
    return names.pop() if len(names) == 1 else _last_function(failure)


def _last_function(failure: Failure) -> str:
    ran = _last_return(failure)
    return ran.function if ran is not None and ran.function.isidentifier() else ""


def _return_line(failure: Failure, name: str) -> str:
    """Return the line of the return: `` on line 3 (return x * 2)``."""
    ran = _last_return(failure)
    return f" on {on_line(failure.trace, ran.seq)}" if ran is not None and ran.function == name else ""


def _last_return(failure: Failure) -> ev.SourceLine | None:
    """Return the last line that ran in a function, if it is a ``return``."""
    steps = failure.trace.steps_of(ev.SourceLine)
    for step in reversed(steps[-20:]):
        line = failure.trace[step]
        if isinstance(line, ev.SourceLine) and line.function and not line.resumed:
            return line if source_text(failure.trace, line).startswith("return") else None
    return None


RULES = (
    ("calling .item() on a Tensor", item),
    ("data-dependent control flow", control_flow),
    ("vmap: inplace arithmetic", in_place),
    ("doesn't match the broadcast shape", in_place),
    ("called random operation while in randomness error mode", randomness),
    ("We do not support batching operators that can", dynamic),
    ("would return a differently shaped Tensor", dynamic),
    ("to have the same size in the mapped dimension", sizes),
    ("Got in_dim=", in_dim),
    ("must only return Tensors", returned),
    ("Expected f(*args) to return", scalar),
)

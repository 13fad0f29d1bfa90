"""A tensor of several numbers where Python needs one: ``item()``, ``if x > 0``, ``float(x)``."""

from __future__ import annotations

from math import prod

from dispatchviz.explain.diagnosis.arguments import arguments, diagnosed, failed_call, named, reference
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import tensors_on_line
from dispatchviz.explain.diagnosis.words import base_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import capital


def one_number(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a tensor of several numbers that cannot become one."""
    call = failed_call(failure)
    several = [each for each in tensors_on_line(failure) if prod(each.shape) != 1]
    one = named(arguments(failure), "self") if call is not None else several[0] if len(several) == 1 else None
    if one is None or prod(one.shape) == 1:
        return None
    where, it = on_line(failure.trace, failure.raised), reference(one, "the tensor")
    if call is not None and base_name(call) == "is_nonzero":
        text = f"{capital(where)} asks whether {one.sized} is true, but it has {prod(one.shape)} values."
        fixes = (f"Ask whether all are, or any is: {_dotted(it)}all() or {_dotted(it)}any().",)
    else:
        text = f"{capital(where)} makes a Python number of {one.sized}, but it has {prod(one.shape)} values."
        fixes = (f"Choose one element, reduce {it} (sum, mean), or take all: {_dotted(it)}tolist().",)
    return diagnosed(failure, Statement("shapes: one number of several", text), fixes, (one,))


def _dotted(it: str) -> str:
    return "." if it.startswith("the ") else f"{it}."


RULES = (
    ("can be converted to an index", one_number),
    ("only one element tensors can be converted to Python scalars", one_number),
    ("cannot be converted to Scalar", one_number),
    ("Boolean value of Tensor with", one_number),
)

"""Messages of forward mode: dual tensors and their tangents."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

FORWARD_MODE = (
    KnownMessage(
        "forward mode not supported",
        "Trying to use forward AD with {operator} that does not support it because {reason:text}.",
        detail="The operator is {operator}.",
        cause="Forward mode needs a formula for the tangent of each operator, and this one has none.",
        fix="Use an operator that has one, or the reverse: torch.func.vjp or jacrev instead of jvp or jacfwd.",
        or_says=("Trying to use forward AD with {operator} that does not support it because",),
    ),
    KnownMessage(
        "jvp of another shape",
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        "supported. Tensor is of size {tensor:shape} while the given forward gradient is of size {tangent:shape}",
        detail="The tensor has the shape {tensor}, the tangent {tangent}.",
        cause="A tangent has one number for each element of its tensor.",
        fix="Pass a tangent of the tensor's shape, for example torch.ones_like(x).",
    ),
    KnownMessage(
        "no dual level",
        "Trying to create a dual Tensor for forward AD but no level exists",
        cause="A tangent lives as long as the dual level in which it was made, and none is open.",
        fix="Make dual tensors and read their tangents within `with fwAD.dual_level():`, or use torch.func.jvp.",
    ),
    KnownMessage(
        "nested dual levels",
        "Nested forward mode AD is not supported at the moment",
        cause="A tensor has a place for one tangent, so one dual level is open at a time.",
        fix="Use torch.func.jvp within torch.func.jvp for second derivatives, or jacfwd of jacrev.",
    ),
    KnownMessage(
        "dual of integers",
        "Expected {which} to be floating point or complex, but got: {dtype}",
        detail="The {which} is {dtype}.",
        cause="A tangent says what a small change does, and whole numbers have no small changes.",
        fix="Convert both tensors to floating point numbers.",
    ),
)
"""One entry for each message."""

"""Messages of forward mode: dual tensors and their tangents."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

FORWARD_MODE = (
    KnownMessage(
        "forward mode not supported",
        "Trying to use forward AD with {operator} that does not support it because {reason:text}.",
        detail="The operator is {operator}.",
        cause="Forward mode needs a tangent formula for each operator, and this one has none.",
        fix="Use an operator that has one, or reverse mode: torch.func.vjp or jacrev instead of jvp or jacfwd.",
        or_says=("Trying to use forward AD with {operator} that does not support it because",),
    ),
    KnownMessage(
        "jvp of another shape",
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        "supported. Tensor is of size {tensor:shape} while the given forward gradient is of size {tangent:shape}",
        detail="The tensor has shape {tensor}; the tangent has shape {tangent}.",
        cause="A tangent must have one number for each element of its tensor.",
        fix="Pass a tangent of the tensor's shape, for example torch.ones_like(x).",
    ),
    KnownMessage(
        "no dual level",
        "Trying to create a dual Tensor for forward AD but no level exists",
        cause="A tangent lives as long as the dual level in which it was created, and no level is open.",
        fix="Create dual tensors and read their tangents inside `with fwAD.dual_level():`, or use torch.func.jvp.",
    ),
    KnownMessage(
        "nested dual levels",
        "Nested forward mode AD is not supported at the moment",
        cause="A tensor can hold one tangent, so only one dual level can be open.",
        fix="For second derivatives use torch.func.jvp inside torch.func.jvp, or jacfwd of jacrev.",
    ),
    KnownMessage(
        "dual of integers",
        "Expected {which} to be floating point or complex, but got: {dtype}",
        detail="The {which} is {dtype}.",
        cause="A tangent describes the effect of a small change, and integers cannot change by a small amount.",
        fix="Convert both tensors to floating point numbers.",
    ),
)
"""One entry for each message."""

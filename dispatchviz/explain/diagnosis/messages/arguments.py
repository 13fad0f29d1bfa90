"""Messages about arguments, and about what Python and NumPy ask of a tensor."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

ARGUMENTS = (
    KnownMessage(
        "numpy of requires_grad",
        "Can't call numpy() on Tensor that requires grad",
        cause="NumPy records nothing: what it computes with the numbers would have no gradient, and the program would "
        "not notice.",
        fix="Use x.detach().numpy() if no gradient is needed, else operators of torch.",
    ),
    KnownMessage(
        "item of several elements",
        "a Tensor with {number:n} elements cannot be converted to Scalar",
        detail="The tensor has {number} elements.",
        cause="item(), float() and int() read one number out of a tensor of one element.",
        fix="Reduce first (x.mean().item()), index one element, or use x.tolist().",
        or_says=("only one element tensors can be converted to Python scalars",),
    ),
    KnownMessage(
        "truth of several elements",
        "Boolean value of Tensor with more than one value is ambiguous",
        cause="if, and, or and not ask for one answer, and a comparison of tensors has one for each element.",
        fix="Use (x > 0).any() or .all(), the operators & and |, or torch.where.",
        or_says=("bool value of Tensor with more than one value is ambiguous",),
    ),
    KnownMessage(
        "iteration over a scalar",
        "iteration over a 0-d tensor",
        cause="The tensor is a single number: there is nothing to go through. a, b = f(x) iterates as well.",
        fix="Read the number with x.item(), or give the tensor a dimension with reshape(1).",
    ),
    KnownMessage(
        "length of a scalar",
        "len() of a 0-d tensor",
        cause="The tensor is a single number and has no first dimension.",
        fix="Use x.numel() for the number of elements, or x.dim() to ask before.",
    ),
    KnownMessage(
        "deepcopy of a result",
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
        cause="A copy of a result would need a copy of its graph. A module has such a tensor if forward stores one as "
        "an attribute.",
        fix="Copy x.detach().clone(), and store detached tensors in a module.",
    ),
    KnownMessage(
        "send a result to a process",
        "Cowardly refusing to serialize non-leaf tensor which requires_grad",
        cause="A tensor with a history was sent to another process, and a graph does not cross processes.",
        fix="Send x.detach().",
        engine="torch",
    ),
    KnownMessage(
        "invalid combination of arguments",
        "{function}() received an invalid combination of arguments - got ({got:text}), but expected",
        detail="{function} was called with ({got}).",
        cause="None of the forms of this function takes these types: often a tensor or a tuple where a number belongs, "
        "a float for a size, or a misspelled keyword.",
        fix="Compare the types in brackets with the forms that the message lists below.",
    ),
    KnownMessage(
        "argument of another type",
        "{function}(): argument '{argument}' (position {position:n}) must be {expected:text}, not {got}",
        detail="{function} takes {expected} for {argument}, and got {got}.",
        cause="The function checks the type of each argument before it calls an operator.",
        fix="Convert the argument: torch.tensor(x) for a number or a list, int(x) for a size.",
        or_says=("{function}(): argument '{argument}' must be {expected:text}, not {got}",),
    ),
    KnownMessage(
        "missing argument",
        '{function}() missing {number:n} required positional arguments: "{names:text}"',
        detail="{function} was called without {names}.",
        cause="The function has arguments without a default.",
        fix="Pass them; a method gets its tensor as the first argument.",
    ),
    KnownMessage(
        "cat of nothing",
        "expected a non-empty list of Tensors",
        cause="The list is empty: no shape and no dtype can be known for the result.",
        fix="Ask before the call whether the list is empty: usually a loop or a filter gave nothing.",
        or_says=("stack expects a non-empty TensorList",),
    ),
    KnownMessage(
        "cat of no tensors",
        "expected Tensor as element {index:n} in argument {argument:n}, but got {got}",
        detail="Element {index} of the list is of type {got}.",
        cause="The function takes a list of tensors, and an element of it is none.",
        fix="Convert the element with torch.tensor(), or use torch.tensor(list) for a list of numbers.",
    ),
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
        "file that is refused",
        "Weights only load failed",
        cause="torch.load reads tensors and plain values alone since PyTorch 2.6, since a pickle can run any code; the "
        "file holds other objects.",
        fix="Save model.state_dict() instead of the model; for a file that you trust pass weights_only=False, or name "
        "the classes with torch.serialization.add_safe_globals.",
    ),
)
"""One entry for each message."""

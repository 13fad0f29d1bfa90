"""Messages about arguments, and about uses of a tensor by Python and NumPy."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

ARGUMENTS = (
    KnownMessage(
        "numpy of requires_grad",
        "Can't call numpy() on Tensor that requires grad",
        cause="Autograd cannot record NumPy operations, so their results would silently have no gradient.",
        fix="Use x.detach().numpy() if you need no gradient, or use torch operators.",
        diagnosis="numpy of a tensor that requires grad",
    ),
    KnownMessage(
        "item of several elements",
        "a Tensor with {number:n} elements cannot be converted to Scalar",
        detail="The tensor has {number} elements.",
        cause="item(), float() and int() need a tensor with one element.",
        fix="Reduce first (x.mean().item()), index one element, or use x.tolist().",
        diagnosis="shapes: one number of several",
    ),
    KnownMessage(
        "truth of several elements",
        "Boolean value of Tensor with more than one value is ambiguous",
        cause="if, and, or and not need a single truth value, and a comparison of tensors has one for each element.",
        fix="Use (x > 0).any() or .all(), the operators & and |, or torch.where.",
        or_says=("bool value of Tensor with more than one value is ambiguous",),
        diagnosis="shapes: one number of several",
    ),
    KnownMessage(
        "iteration over a scalar",
        "iteration over a 0-d tensor",
        cause="The tensor is a single number, so there is nothing to iterate over. An assignment such as a, b = f(x) "
        "iterates too.",
        fix="Read the number with x.item(), or give the tensor a dimension with reshape(1).",
    ),
    KnownMessage(
        "length of a scalar",
        "len() of a 0-d tensor",
        cause="The tensor is a single number, so it has no first dimension.",
        fix="Use x.numel() for the number of elements, or check x.dim() first.",
    ),
    KnownMessage(
        "deepcopy of a result",
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
        cause="A copy of a result would need a copy of its graph. A module contains a result if its forward stores one "
        "as an attribute.",
        fix="Copy x.detach().clone(), and store detached tensors in a module.",
        diagnosis="deepcopy of a non-leaf",
    ),
    KnownMessage(
        "send a result to a process",
        "Cowardly refusing to serialize non-leaf tensor which requires_grad",
        cause="A tensor with a history was sent to another process, and a graph cannot cross processes.",
        fix="Send x.detach().",
        engine="torch",
    ),
    KnownMessage(
        "invalid combination of arguments",
        "{function}() received an invalid combination of arguments - got ({got:text}), but expected",
        detail="{function} was called with ({got}).",
        cause="No signature of this function takes these types. Usual causes are a tensor or tuple where a number "
        "belongs, a float for a size, and a misspelled keyword.",
        fix="Compare the types in parentheses with the signatures that the message lists.",
        diagnosis="signature: no signature fits",
    ),
    KnownMessage(
        "argument of another type",
        "{function}(): argument '{argument}' (position {position:n}) must be {expected:text}, not {got}",
        detail="{function} takes {expected} for {argument}, and got {got}.",
        cause="The function checks the type of each argument before it calls an operator.",
        fix="Convert the argument: torch.tensor(x) for a number or a list, int(x) for a size.",
        or_says=("{function}(): argument '{argument}' must be {expected:text}, not {got}",),
        diagnosis="signature: type of an argument",
    ),
    KnownMessage(
        "missing argument",
        '{function}() missing {number:n} required positional arguments: "{names:text}"',
        detail="{function} was called without {names}.",
        cause="The function has arguments without a default.",
        fix="Pass them. A method gets its tensor as the first argument.",
    ),
    KnownMessage(
        "cat of nothing",
        "expected a non-empty list of Tensors",
        cause="The list is empty, so the result has no shape or dtype.",
        fix="Check that the list is not empty before the call. Usually a loop or a filter produced nothing.",
        or_says=("stack expects a non-empty TensorList",),
    ),
    KnownMessage(
        "cat of no tensors",
        "expected Tensor as element {index:n} in argument {argument:n}, but got {got}",
        detail="Element {index} of the list has type {got}.",
        cause="The function takes a list of tensors, and one element is not a tensor.",
        fix="Convert the element with torch.tensor(), or use torch.tensor(list) for a list of numbers.",
    ),
    KnownMessage(
        "file that is refused",
        "Weights only load failed",
        cause="Since PyTorch 2.6 torch.load() reads only tensors and plain values by default, because a pickle can run "
        "any code. This file holds other objects.",
        fix="Save model.state_dict() instead of the model. For a file that you trust, pass weights_only=False or name "
        "the classes with torch.serialization.add_safe_globals().",
    ),
    KnownMessage(
        "tensor of tensors",
        "only one element tensors can be converted to Python scalars",
        cause="float(x) reads one number, and torch.tensor() reads one for each element of a list; a tensor with "
        "several elements is not one number. Older releases raise the same error in item().",
        fix="Use torch.stack(tensors) for a list of tensors. Reduce or index a tensor before float(x) or item().",
    ),
    KnownMessage(
        "numpy of a conjugate",
        "Can't call numpy() on Tensor that has {which} bit set",
        detail="Its {which} bit is set.",
        cause="conj() copies nothing: it sets a bit that changes how the numbers are read, and NumPy does not know "
        "that bit.",
        fix="Call x.resolve_conj().numpy(), or resolve_neg() for the negative bit.",
    ),
)
"""One entry for each message."""

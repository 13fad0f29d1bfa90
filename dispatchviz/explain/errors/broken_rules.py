"""The rules behind error messages that learners meet: what was broken, and what to do instead.

Recognised by parts of PyTorch's own messages; an error that is not among them is shown with its message alone.
"""

from __future__ import annotations

_RULES = {
    "a leaf Variable that requires grad is being used in an in-place": (
        "An in-place operator makes its Node the grad_fn of what it writes to: the leaf would no longer be a leaf, "
        "and nothing would write its .grad. Inside torch.no_grad() it may be changed."
    ),
    "a view of a leaf Variable that requires grad is being used in an in-place": (
        "Writing through a view gives its base a new history: the leaf would no longer be a leaf, and nothing would "
        "write its .grad. Inside torch.no_grad() it may be changed."
    ),
    "This view is the output of a function that returns multiple views": (
        "Autograd can regenerate the grad_fn of a view after a write only if its Node made no other view."
    ),
    "This view was created inside a custom Function": (
        "After a write autograd regenerates the grad_fn of a view from its base's: the Function's backward would no "
        "longer be called."
    ),
    "was created in no_grad mode and": (
        "The view was made while nothing was recorded: it is ambiguous whether the write is to be recorded."
    ),
    "was created in inference mode and": (
        "The view was made while nothing was recorded: it is ambiguous whether the write is to be recorded."
    ),
    "Trying to use a saved tensor that has been detached in-place": (
        "A Node saved a tensor that had a history, and detach_ has removed that history since; detach() would have "
        "left the tensor as it was."
    ),
    "Can't detach views in-place": (
        "A view's history follows that of its base, so it cannot be detached by itself; detach() returns a new tensor."
    ),
    "Inference tensors cannot be saved for backward": (
        "An inference tensor has no version counter: no Node that saves it could detect a change."
    ),
    "you can only change requires_grad flags of leaf variables": (
        "A tensor with a grad_fn requires grad because of its history, whatever its flag; detach() returns one without."
    ),
    "modified by an inplace operation": (
        "A Node saved a tensor for its formula, and the tensor's version has changed since: the formula would use "
        "other values than the forward pass did."
    ),
    "Trying to backward through the graph a second time": (
        "The Nodes released their saved variables when the first backward pass ran; with retain_graph=True they would "
        "have kept them."
    ),
    "does not require grad and does not have a grad_fn": (
        "A backward pass starts at the Node of a result; a tensor that nothing was recorded for has none."
    ),
    "grad can be implicitly created only for scalar outputs": (
        "Only for a scalar does backward start with the gradient 1 by itself; otherwise it must be passed (gradient=)."
    ),
    "don't support automatic differentiation, but one of the arguments requires grad": (
        "Operators with out= record nothing, so none of their arguments may require grad while grad mode is on."
    ),
    "appears to not have been used in the graph": (
        "No gradient has reached this tensor: usually because no path of edges leads to it from the root Node."
    ),
    "Inplace update to inference tensor outside InferenceMode": (
        "An inference tensor has no version counter, so the change could not be detected later."
    ),
    "Could not run": (
        "The cell of the highest key is empty: no kernel, alias or fallback of this operator covers that key."
    ),
    "There were no tensor arguments to this function": (
        "No argument has a dispatch key and the thread includes none, so the call ended in the cell of Undefined."
    ),
}


def broken_rule(message: str) -> str:
    """The rule that an error message speaks of, in a sentence or two; empty if it is not one of the known ones."""
    return next((rule for text, rule in _RULES.items() if text in message), "")

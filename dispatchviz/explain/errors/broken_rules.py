"""The rules behind error messages that learners meet: what was broken, and what to do instead.

Recognised by words of PyTorch's own messages; an error that is not among them is shown with its message alone.
"""

from __future__ import annotations

_RULES = {
    "a leaf Variable that requires grad is being used in an in-place": (
        "An in-place operator makes its Node the grad_fn of what it writes to: the leaf would be a leaf no longer, and "
        "nothing would write its .grad. Inside torch.no_grad() it may be changed."
    ),
    "a view of a leaf Variable that requires grad is being used in an in-place": (
        "Writing through a view gives its base a new history: the leaf would be a leaf no longer, and nothing would "
        "write its .grad. Inside torch.no_grad() it may be changed."
    ),
    "This view is the output of a function that returns multiple views": (
        "Autograd can make the history of a view anew after a write only if its Node made no other view."
    ),
    "This view was created inside a custom Function": (
        "After a write autograd makes the history of a view anew from its base's: the Function's backward would no "
        "longer be in it."
    ),
    "was created in no_grad mode and": (
        "The view was made while nothing was recorded: whether the write shall be recorded cannot be told."
    ),
    "was created in inference mode and": (
        "The view was made while nothing was recorded: whether the write shall be recorded cannot be told."
    ),
    "Trying to use a saved tensor that has been detached in-place": (
        "A Node kept a tensor that had a history, and detach_ has taken that history away since; detach() would have "
        "left the tensor as it was."
    ),
    "Can't detach views in-place": (
        "A view's history follows that of its base, so it cannot be cut off by itself; detach() gives another tensor."
    ),
    "Inference tensors cannot be saved for backward": (
        "An inference tensor has no version counter: no Node that keeps it could notice a change."
    ),
    "you can only change requires_grad flags of leaf variables": (
        "A tensor with a grad_fn requires grad because of its history, whatever its flag; detach() gives one without."
    ),
    "modified by an inplace operation": (
        "A Node kept a tensor for its formula, and the tensor's version has moved since: the formula would use other "
        "numbers than the forward pass did."
    ),
    "Trying to backward through the graph a second time": (
        "The Nodes let go of the tensors they kept when the first backward pass ran; with retain_graph=True they would "
        "have kept them."
    ),
    "does not require grad and does not have a grad_fn": (
        "A backward pass starts at the Node of a result; a tensor that nothing was recorded for has none."
    ),
    "grad can be implicitly created only for scalar outputs": (
        "Only for a single number is it clear that the gradient to start with is 1; otherwise it must be given."
    ),
    "don't support automatic differentiation, but one of the arguments requires grad": (
        "Operators with out= record nothing, so none of their arguments may require grad while grad mode is on."
    ),
    "appears to not have been used in the graph": (
        "No gradient has come to this tensor: as a rule because no path of edges leads to it from the starting Node."
    ),
    "Inplace update to inference tensor outside InferenceMode": (
        "An inference tensor has no version counter, so nobody could notice the change later."
    ),
    "Could not run": (
        "The cell of the winning key is empty: no kernel, alias or fallback of this operator covers that key."
    ),
    "There were no tensor arguments to this function": (
        "No argument brought a key and the thread added none, so the call ended in the cell of the empty set."
    ),
}


def broken_rule(message: str) -> str:
    """The rule that an error message speaks of, in a sentence or two; empty if it is not one of the known ones."""
    return next((rule for words, rule in _RULES.items() if words in message), "")

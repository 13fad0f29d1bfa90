"""The rules behind error messages that learners meet: what was broken, and what to do instead.

Recognised by words of PyTorch's own messages; an error that is not among them is shown with its message alone.
"""

from __future__ import annotations

_RULES = {
    "a leaf Variable that requires grad is being used in an in-place": (
        "A leaf that requires grad must keep its value, since the gradient is computed for that value; inside "
        "torch.no_grad() it may be changed."
    ),
    "a view of a leaf Variable that requires grad is being used in an in-place": (
        "A leaf that requires grad must keep its value, and a view writes into the leaf's memory; inside "
        "torch.no_grad() it may be changed."
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
        "No edge leads from the starting Node to this tensor, so there is no gradient to hand out."
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

"""Messages about in-place writes, views and saved tensors."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

IN_PLACE = (
    KnownMessage(
        "saved tensor changed",
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[{type:text}], which is output {output:n} of {node}, is at version {now:n}; expected version {saved:n} "
        "instead",
        detail="The tensor was saved at version {saved} and is at version {now} now.",
        cause="A Node saved this tensor for its formula, and the tensor has changed since. The formula would use other "
        "values than the forward pass did.",
        fix="Use an operator that returns a new tensor (y = y + 1 instead of y += 1), or clone() the tensor before you "
        "write to it. If an optimizer wrote to it, call step() after the last backward().",
        or_says=(
            (
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                "[{type:text}] is at version {now:n}; expected version {saved:n} instead"
            ),
            "one of the variables needed for gradient computation has been modified by an inplace operation. ",
        ),
        diagnosis="saved tensor changed",
    ),
    KnownMessage(
        "leaf in place",
        "a leaf Variable that requires grad is being used in an in-place operation",
        cause="An in-place operator makes its Node the grad_fn of the tensor that it writes to. The leaf would no "
        "longer be a leaf, and nothing would write its .grad. Inside torch.no_grad() the write is allowed.",
        fix="Write inside torch.no_grad(), or compute a new tensor: y = w + 1.",
        or_says=("a leaf Variable that requires grad has been used in an in-place operation",),
        diagnosis="in-place write: a leaf",
    ),
    KnownMessage(
        "view of a leaf in place",
        "a view of a leaf Variable that requires grad is being used in an in-place operation",
        cause="A write through a view gives its base a new history. The leaf would no longer be a leaf, and nothing "
        "would write its .grad. Inside torch.no_grad() the write is allowed.",
        fix="Write inside torch.no_grad(), or clone() the leaf and write to the clone.",
        diagnosis="in-place write: a view of a leaf",
    ),
    KnownMessage(
        "one of several views in place",
        "This view is the output of a function that returns multiple views",
        cause="After a write, autograd can regenerate the grad_fn of a view only if the view's Node returned a single "
        "view.",
        fix="Compute a new tensor instead of writing, or take the view by an index: x[0] instead of x.unbind()[0].",
        diagnosis="in-place write: one of several views",
    ),
    KnownMessage(
        "view of a Function in place",
        "This view was created inside a custom Function",
        cause="After a write, autograd would regenerate the view's grad_fn from its base. The Function's backward "
        "would then never run.",
        fix="Return x.clone() from the Function's forward, or write to a clone of its result.",
        diagnosis="in-place write: a view of a custom Function",
    ),
    KnownMessage(
        "no_grad view in place",
        "was created in no_grad mode and {place:text} modified inplace with grad mode enabled",
        cause="The view was created while nothing was recorded, so it is not clear whether the write should be "
        "recorded.",
        fix="Create the view and write to it in the same mode: both inside torch.no_grad() or both outside.",
        or_says=("was created in no_grad mode and its base or another view of its base has been modified inplace",),
        diagnosis="in-place write: a view made unrecorded",
    ),
    KnownMessage(
        "inference view in place",
        "was created in inference mode and is being modified inplace in normal mode",
        cause="The view was created while nothing was recorded, so it is not clear whether the write should be "
        "recorded.",
        fix="Create the view and write to it in the same mode: both inside torch.inference_mode() or both outside.",
        or_says=("was created in inference mode and its base or another view of its base has been modified inplace",),
        diagnosis="in-place write: a view made unrecorded",
    ),
    KnownMessage(
        "saved tensor detached",
        "Trying to use a saved tensor that has been detached in-place",
        cause="A Node saved a tensor that had a history, and detach_() has removed that history since. detach() would "
        "have left the tensor unchanged.",
        fix="Use y = y.detach() instead of y.detach_().",
        diagnosis="saved tensor detached in place",
    ),
    KnownMessage(
        "detach of a view",
        "Can't detach views in-place",
        cause="A view takes its history from its base, so it cannot be detached on its own. detach() returns a new "
        "tensor instead.",
        fix="Use detach() instead of detach_().",
        diagnosis="in-place write: a view detached",
    ),
    KnownMessage(
        "expanded tensor in place",
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location",
        cause="The tensor was expanded: several of its elements share one place in memory, so a write to one would "
        "change the others.",
        fix="Call clone() (or contiguous()) on the expanded tensor before you write to it.",
        diagnosis="in-place write: an expanded tensor",
    ),
    KnownMessage(
        "overlapping memory",
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location",
        cause="The operator reads and writes the same memory at different positions, so its result would depend on the "
        "order of the writes.",
        fix="Call clone() on the input first.",
        or_says=("unsupported operation: the input tensors cannot be written to when they overlap",),
    ),
    KnownMessage(
        "inference tensor in place",
        "Inplace update to inference tensor outside InferenceMode is not allowed",
        cause="An inference tensor has no version counter, so a later check could not detect the change.",
        fix="clone() the tensor outside inference mode and write to the clone, or use torch.no_grad() instead of "
        "inference mode.",
        diagnosis="inference tensor: written to",
    ),
    KnownMessage(
        "inference tensor saved",
        "Inference tensors cannot be saved for backward",
        cause="An inference tensor has no version counter, so a Node that saved it could not detect a change.",
        fix="clone() the tensor outside inference mode, or compute it under torch.no_grad().",
        diagnosis="inference tensor: saved",
    ),
    KnownMessage(
        "inference tensor requires grad",
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
        cause="An inference tensor has no version counter, so autograd cannot use it, even after inference mode has "
        "ended.",
        fix="clone() it outside inference mode and call requires_grad_() on the clone.",
    ),
    KnownMessage(
        "out with requires_grad",
        "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
        "grad",
        cause="Operators with out= are not recorded, so none of their arguments may require grad while grad mode is "
        "on.",
        fix="Use the returned tensor instead of out=, or make the call under torch.no_grad().",
        diagnosis="out= with a tensor that requires grad",
    ),
    KnownMessage(
        "result dtype in place",
        "result type {result} can't be cast to the desired output type {output}",
        detail="The result is {result}; the tensor that is written to is {output}.",
        cause="An in-place operator cannot change the dtype of its tensor, and this dtype cannot hold the result.",
        fix="Compute a new tensor (x = x / 2), or convert x first: x = x.float().",
        diagnosis="dtypes: result of an in-place operator",
    ),
    KnownMessage(
        "result shape in place",
        "output with shape {output:shape} doesn't match the broadcast shape {result:shape}",
        detail="The tensor that is written to has shape {output}; the result has shape {result}.",
        cause="An in-place operator cannot make its tensor larger: only the other argument is broadcast.",
        fix="Compute a new tensor (x = x + y), or give the other argument a shape that broadcasts to the shape of x.",
        diagnosis="shapes: result of an in-place operator",
    ),
    KnownMessage(
        "resize of requires_grad",
        "cannot resize variables that require grad",
        cause="resize_() changes the number of elements in place, and the gradient would no longer match.",
        fix="Create a new tensor, for example with torch.cat or F.pad.",
    ),
    KnownMessage(
        "Python function on requires_grad",
        "Can't call {function}() on Variable that requires grad",
        detail="The method is {function}.",
        cause="This method runs a Python function on each number, and autograd cannot record that function.",
        fix="Use torch operators, or call it on x.detach() if you need no gradient.",
    ),
    KnownMessage(
        "hook on a released tensor",
        "Calling register_hooks on a saved tensor after it has been freed",
        cause="The Node released its saved tensors when a backward pass ran, so there is nothing left to pack.",
        fix="Register the hooks before the backward pass, or pass retain_graph=True to it.",
    ),
    KnownMessage(
        "saved tensor with two pairs of hooks",
        "Calling register_hooks on a saved tensor whose hooks have already been set",
        cause="The Node now holds the value that the first pack hook returned. A second pair of hooks would get that "
        "value instead of a tensor.",
        fix="Register one pair of hooks that does both tasks.",
    ),
    KnownMessage(
        "deleted item",
        "Tensor does not support deleting items",
        cause="The size and the memory of a tensor are fixed, so an element cannot be removed.",
        fix="Select the other elements: torch.cat([x[:i], x[i + 1:]]), or use a mask.",
    ),
)
"""One entry for each message."""

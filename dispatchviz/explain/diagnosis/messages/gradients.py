"""Messages about backward passes, about what requires grad, and about ``.grad``."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

GRADIENTS = (
    KnownMessage(
        "no grad_fn",
        "element {index:n} of tensors does not require grad and does not have a grad_fn",
        cause="A backward pass starts at the Node of a result; a tensor that nothing was recorded for has none.",
        fix="Let the tensors whose gradients you want require grad (requires_grad=True), and look for a detach(), a "
        "torch.no_grad() or an operator that is not differentiable on the way to the loss.",
        or_says=(
            "element {index:n} of variables does not require grad and does not have a grad_fn",
            "element {index:n} of variables tuple is volatile",
        ),
        diagnosis="no grad_fn",
    ),
    KnownMessage(
        "second backward",
        "Trying to backward through the graph a second time",
        cause="The Nodes released their saved variables when the first backward pass ran; with retain_graph=True they "
        "would have kept them.",
        fix="Compute the loss anew before each backward(), and detach() what is carried from one iteration into the "
        "next; use retain_graph=True only if you want two backward passes through one graph.",
        diagnosis="second backward",
    ),
    KnownMessage(
        "backward of no scalar",
        "grad can be implicitly created only for scalar outputs",
        cause="Only for a scalar does backward start with the gradient 1 by itself; otherwise it must be passed "
        "(gradient=).",
        fix="Reduce the result to one number first (loss.sum() or loss.mean()), or pass gradient= with a tensor of "
        "the result's shape.",
        diagnosis="non-scalar backward",
    ),
    KnownMessage(
        "backward of a complex scalar",
        "grad can be implicitly created only for real scalar outputs but got {dtype}",
        detail="The result is {dtype}.",
        cause="Complex numbers have no order, so a complex loss has no minimum: backward starts by itself only at a "
        "real one.",
        fix="Compute a real loss, for example with abs() or .real, or pass gradient=.",
    ),
    KnownMessage(
        "gradient of another shape",
        "Mismatch in shape: grad_output[{number:n}] has a shape of {grad:shape} and output[{same:n}] has a shape of "
        "{output:shape}",
        detail="The gradient that was passed has the shape {grad}, the result has the shape {output}.",
        cause="The gradient that a backward pass starts with has one number for each element of the result.",
        fix="Pass a gradient of the result's shape, for example torch.ones_like(result).",
    ),
    KnownMessage(
        "unused input",
        "appears to not have been used in the graph",
        cause="No gradient has reached this tensor: usually because no path of edges leads to it from the root Node.",
        fix="Compute the result from that very tensor (not from a copy, a view made later or a detached one), or pass "
        "allow_unused=True and expect None.",
        diagnosis="unused input",
    ),
    KnownMessage(
        "input without requires_grad",
        "One of the differentiated Tensors does not require grad",
        cause="grad computes gradients only of tensors that require grad: for others nothing was recorded.",
        fix="Call requires_grad_() on the input before the result is computed from it.",
        diagnosis="grad of a tensor that does not require grad",
    ),
    KnownMessage(
        "grad of nothing",
        "`inputs` argument to `{function}()` cannot be empty",
        cause="The list of tensors whose gradients are wanted is empty, often because model.parameters() had been "
        "read to its end before.",
        fix="Pass the tensors, and make a list of a generator that is read twice: list(model.parameters()).",
        or_says=("grad requires non-empty inputs.",),
    ),
    KnownMessage(
        "integer requires grad",
        "only Tensors of floating point and complex dtype can require gradients",
        cause="A gradient says what a small change does, and integers and bools have no small changes.",
        fix="Make the tensor of floating point numbers: torch.tensor([1.0, 2.0]), dtype=torch.float32, or x.float().",
        or_says=("only Tensors of floating point dtype can require gradients",),
        diagnosis="requires_grad of integers",
    ),
    KnownMessage(
        "requires_grad of a result",
        "you can only change requires_grad flags of leaf variables",
        cause="A tensor with a grad_fn requires grad because of its history, whatever its flag; detach() returns one "
        "without.",
        fix="Use y.detach() where you want no gradient, or set the flag of the leaf before y is computed from it.",
        diagnosis="requires_grad of a non-leaf",
    ),
    KnownMessage(
        "no derivative",
        "derivative for {operator} is not implemented",
        detail="That operator is {operator}.",
        cause="PyTorch has no formula for this derivative: the Node that the forward pass made can only raise this "
        "error.",
        fix="Use an operator that has a derivative, detach() its input if no gradient is needed there, or write a "
        "torch.autograd.Function with a backward of your own.",
        or_says=("the derivative for '{operator:text}' is not implemented",),
    ),
    KnownMessage(
        "nan in backward",
        "Function '{node}' returned nan values in its {output:n}th output",
        detail="{node} computed it, for its input {output} (counted from 0).",
        cause="Anomaly mode looks at each gradient that a Node computes, and this one has a NaN: usually an infinite "
        "derivative (sqrt or log at 0, a division by 0) times 0.",
        fix="Keep the input of the operator away from that point before it is called, for example with clamp(min=eps): "
        "a where() after it does not help, since 0 * inf is NaN.",
        diagnosis="anomaly mode: NaN",
    ),
    KnownMessage(
        "once differentiable",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        cause="The backward of this Function runs without being recorded, so its result has no history that a second "
        "derivative could follow.",
        fix="Remove @once_differentiable and write backward with differentiable operators, or do without "
        "create_graph=True.",
    ),
    KnownMessage(
        "assigned grad of another size",
        "attempting to assign a gradient of size '{grad:shape}' to a tensor of size '{tensor:shape}'",
        detail="The gradient has the shape {grad}, the tensor {tensor}.",
        cause="A tensor and its .grad have one number each for each element.",
        fix="Assign a gradient of the tensor's shape, or None.",
        or_says=("assigned grad has data of a different size",),
    ),
    KnownMessage(
        "assigned grad of another dtype",
        "attempting to assign a gradient with dtype '{grad}' to a tensor with grad_dtype '{tensor}'",
        detail="The gradient is {grad}, the tensor wants {tensor}.",
        cause="A tensor and its .grad have one dtype, unless grad_dtype says otherwise.",
        fix="Convert the gradient first: grad.to(x.dtype).",
        or_says=(
            "attempting to assign a gradient with data type '{grad}' to a tensor of type '{tensor}'",
            "assigned grad has data of a different type",
        ),
    ),
    KnownMessage(
        "assigned grad on another device",
        "attempting to assign a gradient with device type '{grad}' to a tensor with device type '{tensor}'",
        detail="The gradient is on {grad}, the tensor on {tensor}.",
        cause="A tensor and its .grad are on one device.",
        fix="Move the gradient first: grad.to(x.device).",
        or_says=(
            "attempting to assign a gradient located on device with index '{number}' to a tensor located on device",
            "assigned grad has data located on a different device",
        ),
    ),
    KnownMessage(
        "own grad",
        "can't assign Variable as its own grad",
        cause="The gradient of a tensor is another tensor: the optimizer changes the one by the other.",
        fix="Assign a tensor of its own, for example w.detach().clone().",
    ),
    KnownMessage(
        "retain_grad without requires_grad",
        "can't retain_grad on Tensor that has requires_grad=False",
        cause="No backward pass computes a gradient for a tensor that does not require grad, so there is none to keep.",
        fix="Let an input of the tensor require grad; a leaf that requires grad keeps its .grad without retain_grad().",
    ),
    KnownMessage(
        "hook without requires_grad",
        "cannot register a hook on a tensor that doesn't require gradient",
        cause="A hook runs when a backward pass computes the tensor's gradient, and for this tensor none will be "
        "computed.",
        fix="Register the hook on a tensor that requires grad, and not under torch.no_grad().",
    ),
    KnownMessage(
        "accumulate hook on a result",
        "post accumulate grad hooks cannot be registered on non-leaf tensors",
        cause="Such a hook runs after AccumulateGrad has written .grad, and only leaves have an AccumulateGrad.",
        fix="Register it on the leaf, or use register_hook on the result.",
    ),
    KnownMessage(
        "gradient edge without requires_grad",
        "It is not possible to get the gradient edge for a Tensor that does not require gradients",
        cause="An edge leads to the Node that a tensor's gradient goes to, and this tensor has none.",
        fix="Ask for the edge of a tensor that requires grad.",
    ),
    KnownMessage(
        "leaf in the graph",
        "leaf variable has been moved into the graph interior",
        cause="A Node was recorded while the tensor was a leaf, and the tensor got a history since: AccumulateGrad "
        "writes the .grad of leaves alone.",
        fix="Do not switch off requires_grad to write to a leaf; write under torch.no_grad().",
    ),
    KnownMessage(
        "different recomputation",
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation",
        cause="A checkpoint keeps no results between its inputs and outputs, and runs the function again in the "
        "backward pass; the second time the function did something else than the first.",
        fix="Let the function depend on its inputs alone: no counters, no global flags, no randomness but that of "
        "PyTorch.",
        or_says=("torch.utils.checkpoint: trying to save more tensors during recomputation",),
    ),
    KnownMessage(
        "other metadata in recomputation",
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
        "forward pass",
        cause="A checkpoint runs the function again in the backward pass; the second time a tensor had another shape, "
        "dtype or device.",
        fix="Let the function depend on its inputs alone, and set autocast and devices as in the forward pass.",
    ),
    KnownMessage(
        "checkpoint with grad",
        "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()",
        cause="A reentrant checkpoint starts a backward pass of its own, which writes .grad of all leaves: it cannot "
        "compute the gradients of a few tensors alone.",
        fix="Pass use_reentrant=False to checkpoint().",
        or_says=("Checkpointing is not compatible with .grad()",),
    ),
    KnownMessage(
        "DDP without a gradient",
        "Expected to have finished reduction in the prior iteration before starting a new one",
        cause="DistributedDataParallel waits for the gradient of every parameter, and some took no part in the loss of "
        "the last iteration.",
        fix="Use all outputs of forward in the loss, freeze the parameters that are not used, or pass "
        "find_unused_parameters=True.",
    ),
    KnownMessage(
        "DDP with two gradients",
        "has been marked as ready twice. This means that multiple autograd engine hooks have fired",
        cause="DistributedDataParallel expects one gradient for each parameter in a backward pass, and one parameter "
        "got two: usually a reentrant checkpoint, or a module called in several backward passes.",
        fix="Pass use_reentrant=False to checkpoint(), and run one backward() for each forward of the model.",
        or_says=("Expected to mark a variable ready only once",),
    ),
    KnownMessage(
        "no gradients to unscale",
        "No inf checks were recorded for this optimizer",
        cause="GradScaler found no gradient in the parameters of this optimizer: backward() did not reach them.",
        fix="Call scaler.scale(loss).backward() before step(), and give the optimizer the parameters of the model "
        "that computed the loss.",
    ),
    KnownMessage(
        "dtype of a complex gradient",
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[{number:n}] has a dtype of {grad} and output[{same:n}] has a dtype of {output}",
        detail="The gradient that was passed is {grad}, the result {output}.",
        cause="A backward pass that starts at a complex result starts with a complex gradient.",
        fix="Convert the gradient: gradient.to(result.dtype).",
    ),
)
"""One entry for each message, the most frequent first."""

"""Messages about backward passes, ``requires_grad`` and ``.grad``."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

GRADIENTS = (
    KnownMessage(
        "no grad_fn",
        "element {index:n} of tensors does not require grad and does not have a grad_fn",
        cause="A backward pass starts at the grad_fn of a tensor. This tensor has none, because no operation on it was "
        "recorded.",
        fix="Set requires_grad=True on the tensors whose gradients you want. Then look for a detach(), a "
        "torch.no_grad() or a non-differentiable operator between them and the loss.",
        or_says=(
            "element {index:n} of variables does not require grad and does not have a grad_fn",
            "element {index:n} of variables tuple is volatile",
        ),
        diagnosis="no grad_fn",
    ),
    KnownMessage(
        "second backward",
        "Trying to backward through the graph a second time",
        cause="The Nodes released their saved tensors when the first backward pass ran. With retain_graph=True they "
        "would have kept them.",
        fix="Compute the loss again before each backward(), and detach() anything that one iteration carries into the "
        "next. Use retain_graph=True only if you want two backward passes through one graph.",
        diagnosis="second backward",
    ),
    KnownMessage(
        "backward of no scalar",
        "grad can be implicitly created only for scalar outputs",
        cause="backward() can start without an argument only at a scalar, where it starts with the gradient 1. For any "
        "other tensor you must pass the gradient.",
        fix="Reduce the result to one number first (loss.sum() or loss.mean()), or pass gradient= with a tensor of the "
        "result's shape.",
        diagnosis="non-scalar backward",
    ),
    KnownMessage(
        "backward of a complex scalar",
        "grad can be implicitly created only for real scalar outputs but got {dtype}",
        detail="The result is {dtype}.",
        cause="Complex numbers have no order, so a complex loss has no minimum. backward() can start without an "
        "argument only at a real scalar.",
        fix="Compute a real loss, for example with abs() or .real, or pass gradient=.",
    ),
    KnownMessage(
        "gradient of another shape",
        "Mismatch in shape: grad_output[{number:n}] has a shape of {grad:shape} and output[{same:n}] has a shape of "
        "{output:shape}",
        detail="The gradient that was passed has shape {grad}; the result has shape {output}.",
        cause="The gradient that you pass to a backward pass must have one number for each element of the result.",
        fix="Pass a gradient of the result's shape, for example torch.ones_like(result).",
    ),
    KnownMessage(
        "unused input",
        "appears to not have been used in the graph",
        cause="No gradient reached this tensor, usually because no path of edges leads to it from the root Node.",
        fix="Compute the result from that tensor itself, not from a copy, a detached tensor or a view made later. Or "
        "pass allow_unused=True and expect None.",
        diagnosis="unused input",
    ),
    KnownMessage(
        "input without requires_grad",
        "One of the differentiated Tensors does not require grad",
        cause="grad() computes gradients only for tensors that require grad. Nothing was recorded for this one.",
        fix="Call requires_grad_() on the input before the result is computed from it.",
        diagnosis="grad of a tensor that does not require grad",
    ),
    KnownMessage(
        "grad of nothing",
        "`inputs` argument to `{function}()` cannot be empty",
        cause="The list of tensors to differentiate is empty, often because an earlier loop has already exhausted "
        "model.parameters().",
        fix="Pass the tensors. If you need a generator twice, make a list of it: list(model.parameters()).",
        or_says=("grad requires non-empty inputs.",),
    ),
    KnownMessage(
        "integer requires grad",
        "only Tensors of floating point and complex dtype can require gradients",
        cause="A gradient describes the effect of a small change, and integers and bools cannot change by a small "
        "amount.",
        fix="Create the tensor with floating point numbers: torch.tensor([1.0, 2.0]), dtype=torch.float32, or "
        "x.float().",
        or_says=("only Tensors of floating point dtype can require gradients",),
        diagnosis="requires_grad of integers",
    ),
    KnownMessage(
        "requires_grad of a result",
        "you can only change requires_grad flags of leaf variables",
        cause="A tensor with a grad_fn always requires grad, because of its history. Only detach() returns a tensor "
        "that does not.",
        fix="Use y.detach() where you want no gradient, or set requires_grad on the leaf before y is computed from it.",
        diagnosis="requires_grad of a non-leaf",
    ),
    KnownMessage(
        "no derivative",
        "derivative for {operator} is not implemented",
        detail="The operator is {operator}.",
        cause="PyTorch has no formula for this derivative. The forward pass recorded a Node that can only raise this "
        "error.",
        fix="Use an operator that has a derivative, detach() its input if you need no gradient there, or write a "
        "torch.autograd.Function with your own backward.",
        or_says=("the derivative for '{operator:text}' is not implemented",),
    ),
    KnownMessage(
        "nan in backward",
        "Function '{node}' returned nan values in its {output:n}th output",
        detail="{node} computed it for its input {output} (counted from 0).",
        cause="Anomaly mode checks each gradient that a Node computes, and this one contains NaN. The usual cause is "
        "an infinite derivative (sqrt or log at 0, a division by 0) multiplied by 0.",
        fix="Keep the operator's input away from that point, for example with clamp(min=eps) before the call. A "
        "where() after the call does not help, because 0 * inf is NaN.",
        diagnosis="anomaly mode: NaN",
    ),
    KnownMessage(
        "once differentiable",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        cause="This Function's backward runs without being recorded, so its result has no history for a second "
        "derivative to follow.",
        fix="Remove @once_differentiable and write backward with differentiable operators, or leave out "
        "create_graph=True.",
    ),
    KnownMessage(
        "assigned grad of another size",
        "attempting to assign a gradient of size '{grad:shape}' to a tensor of size '{tensor:shape}'",
        detail="The gradient has shape {grad}; the tensor has shape {tensor}.",
        cause="A tensor and its .grad have the same shape.",
        fix="Assign a gradient of the tensor's shape, or None.",
        or_says=("assigned grad has data of a different size",),
    ),
    KnownMessage(
        "assigned grad of another dtype",
        "attempting to assign a gradient with dtype '{grad}' to a tensor with grad_dtype '{tensor}'",
        detail="The gradient is {grad}; the tensor expects {tensor}.",
        cause="A tensor and its .grad have the same dtype, unless grad_dtype sets another one.",
        fix="Convert the gradient first: grad.to(x.dtype).",
        or_says=(
            "attempting to assign a gradient with data type '{grad}' to a tensor of type '{tensor}'",
            "assigned grad has data of a different type",
        ),
    ),
    KnownMessage(
        "assigned grad on another device",
        "attempting to assign a gradient with device type '{grad}' to a tensor with device type '{tensor}'",
        detail="The gradient is on {grad}; the tensor is on {tensor}.",
        cause="A tensor and its .grad are on the same device.",
        fix="Move the gradient first: grad.to(x.device).",
        or_says=(
            "attempting to assign a gradient located on device with index '{number}' to a tensor located on device",
            "assigned grad has data located on a different device",
        ),
    ),
    KnownMessage(
        "own grad",
        "can't assign Variable as its own grad",
        cause="A tensor's gradient must be a different tensor: the optimizer updates the tensor with it.",
        fix="Assign a separate tensor, for example w.detach().clone().",
    ),
    KnownMessage(
        "retain_grad without requires_grad",
        "can't retain_grad on Tensor that has requires_grad=False",
        cause="No backward pass computes a gradient for a tensor that does not require grad, so there is nothing to "
        "retain.",
        fix="Set requires_grad on an input from which the tensor is computed. A leaf that requires grad keeps its "
        ".grad without retain_grad().",
    ),
    KnownMessage(
        "hook without requires_grad",
        "cannot register a hook on a tensor that doesn't require gradient",
        cause="A tensor hook runs when a backward pass computes the tensor's gradient. This tensor does not require "
        "grad, so no gradient will be computed.",
        fix="Register the hook on a tensor that requires grad and was not computed under torch.no_grad().",
    ),
    KnownMessage(
        "accumulate hook on a result",
        "post accumulate grad hooks cannot be registered on non-leaf tensors",
        cause="This hook runs after AccumulateGrad has written .grad, and only leaves have an AccumulateGrad Node.",
        fix="Register it on the leaf, or use register_hook() on the result.",
    ),
    KnownMessage(
        "gradient edge without requires_grad",
        "It is not possible to get the gradient edge for a Tensor that does not require gradients",
        cause="A gradient edge leads to the Node that receives the tensor's gradient, and this tensor has no Node.",
        fix="Get the gradient edge of a tensor that requires grad.",
    ),
    KnownMessage(
        "leaf in the graph",
        "leaf variable has been moved into the graph interior",
        cause="A Node was recorded while the tensor was a leaf, and the tensor has gained a grad_fn since. "
        "AccumulateGrad writes .grad only for leaves.",
        fix="Do not turn requires_grad off to write to a leaf. Write inside torch.no_grad() instead.",
    ),
    KnownMessage(
        "different recomputation",
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation",
        cause="A checkpoint keeps only the inputs and outputs of a function, and runs the function again in the "
        "backward pass. The second run did not do the same as the first.",
        fix="Let the function depend only on its inputs: no counters, no global flags, and no random numbers except "
        "PyTorch's.",
        or_says=("torch.utils.checkpoint: trying to save more tensors during recomputation",),
    ),
    KnownMessage(
        "other metadata in recomputation",
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
        "forward pass",
        cause="A checkpoint runs the function again in the backward pass. In the second run a tensor had another "
        "shape, dtype or device.",
        fix="Let the function depend only on its inputs, and use the same autocast settings and devices as in the "
        "forward pass.",
    ),
    KnownMessage(
        "checkpoint with grad",
        "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()",
        cause="A reentrant checkpoint starts its own backward pass, which writes .grad of all leaves. It cannot "
        "compute the gradients of selected tensors only.",
        fix="Pass use_reentrant=False to checkpoint().",
        or_says=("Checkpointing is not compatible with .grad()",),
    ),
    KnownMessage(
        "DDP without a gradient",
        "Expected to have finished reduction in the prior iteration before starting a new one",
        cause="DistributedDataParallel waits for the gradient of every parameter. Some parameters took no part in the "
        "loss of the last iteration.",
        fix="Use all outputs of forward in the loss, freeze the unused parameters, or pass "
        "find_unused_parameters=True.",
    ),
    KnownMessage(
        "DDP with two gradients",
        "has been marked as ready twice. This means that multiple autograd engine hooks have fired",
        cause="DistributedDataParallel expects one gradient for each parameter in a backward pass, and one parameter "
        "got two. Usual causes are a reentrant checkpoint and a module that is called in several backward passes.",
        fix="Pass use_reentrant=False to checkpoint(), and run one backward() for each forward of the model.",
        or_says=("Expected to mark a variable ready only once",),
    ),
    KnownMessage(
        "no gradients to unscale",
        "No inf checks were recorded for this optimizer",
        cause="GradScaler found no gradients on this optimizer's parameters, because backward() did not reach them.",
        fix="Call scaler.scale(loss).backward() before step(), and give the optimizer the parameters of the model that "
        "computed the loss.",
    ),
    KnownMessage(
        "dtype of a complex gradient",
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[{number:n}] has a dtype of {grad} and output[{same:n}] has a dtype of {output}",
        detail="The gradient that was passed is {grad}; the result is {output}.",
        cause="A backward pass that starts at a complex result needs a complex gradient.",
        fix="Convert the gradient: gradient.to(result.dtype).",
    ),
)
"""One entry for each message, the most frequent first."""

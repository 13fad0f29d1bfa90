"""Messages of vmap, grad and the other transforms of torch.func."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

TRANSFORMS = (
    KnownMessage(
        "item in vmap",
        "vmap: It looks like you're calling .item() on a Tensor",
        cause="Under vmap a tensor represents all samples of a batch at once, so there is no single number to read.",
        fix="Compute with tensors instead of numbers, for example with torch.where.",
        or_says=("vmap: It looks like you're either (1) calling .item() on a Tensor",),
        diagnosis="vmap: item",
    ),
    KnownMessage(
        "control flow in vmap",
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow",
        cause="Under vmap a tensor represents all samples of a batch at once, and an if statement would take the same "
        "branch for all of them.",
        fix="Compute both branches and select: torch.where(x > 0, a, b).",
        diagnosis="vmap: control flow",
    ),
    KnownMessage(
        "size of a result in vmap",
        "vmap: We do not support batching operators that can output dynamic shape",
        cause="The size of the result depends on the values, so the samples of a batch would have results of different "
        "sizes.",
        fix="Use torch.where with a mask of fixed size, or call the operator outside vmap.",
        or_says=(
            "vmap: Attempted to vmap over `mask` in torch.masked_select",
            "We cannot support this because for each batch this would return a differently shaped Tensor",
        ),
        diagnosis="vmap: dynamic sizes",
    ),
    KnownMessage(
        "randomness in vmap",
        "vmap: called random operation while in randomness error mode",
        cause="vmap does not know whether the samples should get different random numbers or the same ones.",
        fix="Pass randomness='different' or 'same' to vmap.",
        diagnosis="vmap: random numbers",
    ),
    KnownMessage(
        "in place in vmap",
        "is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`",
        cause="The function writes a value with a batch dimension into a tensor without one, which has no place for "
        "the results of all samples.",
        fix="Return a new tensor from the function and combine the results outside vmap.",
        diagnosis="vmap: in place",
    ),
    KnownMessage(
        "mapped sizes",
        "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes:shape} for the "
        "mapped dimension",
        detail="The sizes are {sizes}.",
        cause="vmap takes one sample of each argument at a time, so all arguments need the same number of samples.",
        fix="Pass in_dims with None for an argument that is the same for all samples, or with another dimension.",
        diagnosis="vmap: numbers of samples",
    ),
    KnownMessage(
        "vmap dimension",
        "Got in_dim={dim:n} for some input, but that input is a Tensor of dimensionality {dims:n} so expected in_dim "
        "to satisfy",
        detail="in_dims names dimension {dim}; the tensor has {dims} dimensions.",
        cause="in_dims names the dimension of each argument that holds the samples.",
        fix="Choose a dimension that the argument has, or None for an argument without samples.",
        diagnosis="vmap: in_dims",
    ),
    KnownMessage(
        "vmap returns no tensor",
        "must only return Tensors, got type <class '{type}'>",
        detail="The function returned a value of type {type}.",
        cause="vmap stacks the results of all samples, and only tensors can be stacked.",
        fix="Return tensors, or tuples or dicts of tensors, and read numbers outside.",
        diagnosis="vmap: returns no tensor",
    ),
    KnownMessage(
        "grad of no scalar",
        "Expected f(*args) to return a scalar tensor, got tensor with {dims:n} dims",
        detail="The function returns a tensor with {dims} dimensions.",
        cause="torch.func.grad needs a function whose result is one number.",
        fix="Sum the result, or use torch.func.vjp or jacrev. In vmap(grad(f)), f must take one sample.",
        diagnosis="grad: no scalar",
    ),
    KnownMessage(
        "transform of no tensor",
        "to return only tensors, got unsupported type <class '{type}'>",
        detail="The function returned a value of type {type}.",
        cause="A transform differentiates tensors. A number that was read with item() has no history.",
        fix="Return a tensor, and leave item() and float() out of the function.",
        or_says=("to return only tensors, got unsupported type", "to return only tensors, got type"),
    ),
    KnownMessage(
        "requires_grad in a transform",
        "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside "
        "of a function being transformed by a functorch transform",
        cause="The transform itself decides what it differentiates: the arguments that argnums names.",
        fix="Remove requires_grad_() from the function, and pass the tensor as an argument.",
    ),
    KnownMessage(
        "saved tensor hooks in a transform",
        "don't yet support saved tensor hooks",
        cause="torch.func transforms do not support saved tensor hooks, which checkpoint and save_on_cpu use.",
        fix="Remove them from the transformed function.",
    ),
    KnownMessage(
        "stale tensor of a transform",
        "your tensor may have escaped from inside a function being vmapped",
        cause="Inside vmap tensors are wrapped, and the function stored one outside. The wrapper is invalid once vmap "
        "has ended.",
        fix="Return the tensor from the function instead of storing it.",
    ),
    KnownMessage(
        "no batching rule",
        "does not yet have a batching rule",
        cause="vmap needs a batching rule for each operator, and this one has none.",
        fix="Use operators that have one, or a loop over the samples.",
        or_says=("Batching rule not implemented for {operator}",),
    ),
    KnownMessage(
        "captured tensor in place",
        "that would mutate a captured Tensor",
        cause="The transformed function writes to a tensor from outside, which would then keep a value that is wrapped "
        "for the transform.",
        fix="Pass the tensor as an argument, or return the new value (has_aux=True).",
    ),
    KnownMessage(
        "batch norm in vmap",
        "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
        "place, were not batched",
        cause="In training mode, batch norm updates its running statistics in place, and they have no place for the "
        "statistics of all samples.",
        fix="Use model.eval(), track_running_stats=False, or group norm instead.",
    ),
)
"""One entry for each message."""

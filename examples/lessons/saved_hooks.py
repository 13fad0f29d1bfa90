# # Can a graph keep something smaller than the tensor?
#
# Between forward and backward, saved tensors often take most of the memory of a training step. Two
# hooks of yours can change what is kept. Autograd gives each tensor that it saves to `pack` and
# keeps what `pack` returns. `unpack` gets that back and returns a tensor. Here `pack` keeps half of
# the bytes. When do the two run, and what do they change in backward?

import torch


def pack(tensor):
    return tensor.half()


def unpack(kept):
    return kept.float()


x = torch.ones(1000, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x.exp()
    z = y + 1
y.add_(1)
z.sum().backward()

# ## Predict
#
# `exp` saves its result: 1000 numbers of float32. Write down when `pack` will run, and when
# `unpack` will.
#
# predict: event NoNodeMade in `return tensor.half()`
# `pack` runs within the call of `exp`, with grad mode off. So it may call any operator without an
# effect on the graph.
#
# stop: z's Node
# ask: How many times has `pack` run after this line?
# - 1: for `exp` alone
# - 2: once for each line of the block
#   A line calls `pack` only if its Node saves a tensor.
# - 3: for `x`, `y` and `z`
#   `pack` gets the tensors that a Node saves, not all tensors.
# answer: count("`return tensor.half()`") -> 1
# because: The Node of an addition saves no tensor, because its formula needs none.
#
# ## Run
#
# stop: run ExpBackward0
# ask: `y.add_(1)` has changed the tensor that `exp` saved. What happens now?
# - an error: the saved tensor was modified by an inplace operation
#   That is the answer without hooks.
# - no error
# answer: "an error" if x.grad is None else "no error" -> no error
# because: Autograd compares versions only of tensors that it keeps itself. Here it keeps the object
# of `pack`, and it trusts you.
#
# stop: last event SavedTensorHookRan
# `unpack` runs when the Node needs its saved tensor, long after the block has ended. The saved
# tensor has kept its hook.
#
# ## Investigate
#
# stop: x.grad
# ask: The derivative of `exp` at 1 is 2.71828. What is `x.grad[0]`?
# - 2.71828: the exact one
#   float16 has only 11 significant bits.
# - 2.71875: the nearest number of float16
# - 3.71828: the changed `y`
#   `pack` has copied the numbers before `add_` changed them.
# answer: round(x.grad[0].item(), 5) -> 2.71875
# because: `pack` has rounded the saved result, and the formula multiplies by it.
#
# Nothing warns about that. It is your choice how exact the gradient has to be.
#
# stop: event VariableSaved
# This is what you get for it: the Node keeps float16, so 2000 bytes in place of 4000. `y` itself is
# float32, as before.
#
# ## Modify
#
# Go to the line `y.add_(1)` and press `W`: leave it out. Does `x.grad` change? Then let `pack`
# return `tensor` and `unpack` return `kept` in a copy of the program. Guess first: is there an
# error? What is `x.grad[0]`?
#
# ## Make
#
# Write a `pack` that appends `tensor.nbytes` to a list `kept` and returns the tensor. Use it for
# `(x * x).exp()`, where `x` has 1000 numbers and requires grad. Guess the list first. Which tensor
# does it count twice? Does the graph pay for it twice, too?
#
# goal: kept == [4000, 4000, 4000]
# hint: What does the Node of `x * x` save? And that of `exp`?
# hint: `mul` saves both its inputs, one call of `pack` for each. `exp` saves its result.
# hint: Create `kept = []` at the top of the program. `pack` calls `kept.append(tensor.nbytes)`, and
#   `unpack` returns what it gets.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_when()
    facts_of_versions()
    facts_of_bytes()


def facts_hooked(pack, unpack):
    """Return the leaf, the result of exp, and a sum, with hooks."""
    import torch

    x = torch.ones(1000, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
        z = y + 1
    return x, y, z.sum()


def facts_of_when():
    """Check when the hooks run, and what they see."""
    import torch

    seen = []

    def pack(tensor):
        seen.append(("pack", tensor.nbytes, torch.is_grad_enabled()))
        return tensor.half()

    def unpack(kept):
        seen.append(("unpack", kept.nbytes))
        return kept.float()

    _, y, z = facts_hooked(pack, unpack)
    assert seen == [("pack", 4000, False)], "exp saves its result, the addition saves nothing"
    z.backward(retain_graph=True)
    assert seen[1:] == [("unpack", 2000)], "outside of the block"
    z.backward()
    assert seen[2:] == [("unpack", 2000)], "once for each run of the Node"
    assert y.dtype == torch.float32


def facts_of_versions():
    """Check that the versions of packed tensors are not compared."""
    import torch

    x, y, z = facts_hooked(lambda tensor: tensor.half(), lambda kept: kept.float())
    y.add_(1)
    z.backward()
    assert round(x.grad[0].item(), 5) == 2.71875 == torch.tensor(1.0).exp().half().item()

    x, y, z = facts_hooked(lambda tensor: tensor, lambda kept: kept)
    y.add_(1)
    z.backward()
    assert round(x.grad[0].item(), 4) == 3.7183, "the changed numbers, without an error"

    x = torch.ones(1000, requires_grad=True)
    y = x.exp()
    z = y + 1
    y.add_(1)
    said = ""
    try:
        z.sum().backward()
    except RuntimeError as error:
        said = str(error)
    assert "modified by an inplace operation" in said


def facts_of_bytes():
    """Check a solution of the last task."""
    import torch

    kept, addresses = [], []

    def pack(tensor):
        kept.append(tensor.nbytes)
        addresses.append(tensor.data_ptr())
        return tensor

    x = torch.ones(1000, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = (x * x).exp()
    assert kept == [4000, 4000, 4000]
    assert addresses[:2] == [x.data_ptr()] * 2, "mul saves x twice, but the memory is the same"
    assert addresses[2] == y.data_ptr()


def check(trace):
    """Check when the two hooks run, and that no error is raised."""
    from dispatchviz.core.record import events as ev

    assert_subsequence(
        trace,
        [
            call("aten::exp", "AutogradCPU"),
            event(ev.SavedTensorHookRan, kind="pack hook"),
            event(ev.VariableSaved, name="result", packed=True),
            event(ev.VersionBumped, before=0, after=1),
            node_ran("ExpBackward0"),
            event(ev.SavedTensorHookRan, kind="unpack hook"),
            node_ran("torch::autograd::AccumulateGrad"),
        ],
    )
    assert_count(trace, event(ev.SavedTensorHookRan), 2)
    assert_never(trace, event(ev.ErrorRaised))

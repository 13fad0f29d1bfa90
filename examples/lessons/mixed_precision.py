# # Why does mixed precision scale the loss?
#
# Autocast can run matrix products in float16. They take half the memory, and on a GPU they are
# often much faster. But the smallest positive number of float16 is 6e-8, and gradients are often
# smaller. What happens to them? And why does it help to multiply the loss by 65536?

import torch

x = torch.tensor([[1e-4]])
w = torch.tensor([[1.0]], requires_grad=True)
with torch.autocast("cpu", dtype=torch.float16):
    y = torch.mm(x, w)
loss = y.float().sum() * 1e-5
loss.backward(retain_graph=True)
w.grad = None
(loss * 65536).backward()

# ## Predict
#
# The derivative of `loss` for `w` is 1e-4 * 1e-5, so about 1e-9. All tensors of the program are
# created as float32.
#
# stop: `y = torch.mm(x, w)`
# ask: Which dtypes do `y` and `w` have after this line?
# - both float16
#   The weight itself stays float32, or small updates would be lost.
# - y float16, w float32
# - both float32
#   `mm` is on autocast's list of operators that run in float16.
# answer: "y float16, w float32" if y.dtype == torch.float16 and w.dtype == torch.float32 else "both"
#     -> y float16, w float32
# because: Autocast has cast `x` and `w` for this call. The casts are new tensors.
#
# The cast of `w` has a Node, which leads to the float32 `w`.
#
# ## Run
#
# stop: first run MmBackward0
# ask: Backward runs outside of the block. What is `w.grad` after this line?
# - 1e-09
#   It would be in float32. But the product was computed in float16.
# - 0
# answer: w.grad.item() -> 0
# because: A formula computes with the dtype of its saved tensors and its gradient, and both are
# float16 here. 1e-9 is less than half of the smallest number of float16, so it is rounded to 0.
#
# No warning says so: `w` just does not learn.
#
# stop: second call mm at AutogradCPU
# This is the product of the formula: 1e-4 times 1e-5.
#
# stop: first w.grad
# The zero is cast to float32, the dtype of `w`. That is too late.
#
# ## Investigate
#
# stop: `(loss * 65536).backward()`
# ask: Now the loss is multiplied by 65536. What is `w.grad` after this line, divided by 65536?
# - 0
#   All gradients on the way are 65536 times larger, so none is too small.
# - about 1e-09
# answer: "about 1e-09" if 9e-10 < w.grad.item() / 65536 < 1.1e-9 else "0" -> about 1e-09
# because: A factor of the loss is a factor of every gradient, and here it keeps them in the range
# of float16.
#
# `torch.amp.GradScaler` does both steps: it scales the loss, and divides the gradients in float32
# before the optimizer uses them. If a gradient is infinite, the factor was too large: it skips the
# step, and halves the factor.
#
# stop: event AutocastCast
# This is the cast of `w` in the forward. It is kept until the block ends. If a model uses a weight
# twice in the block, it is cast once.
#
# ## Modify
#
# Take `dtype=torch.bfloat16` in a copy of the program. bfloat16 has the range of float32, with
# fewer digits. Guess first: what is `w.grad` before the loss is scaled? Do you need a scaler?
#
# ## Make
#
# Write the step with SGD and a `torch.amp.GradScaler("cpu")` named `scaler`. The order is
# `scaler.scale(loss).backward()`, `scaler.unscale_(optimizer)`, `scaler.step(optimizer)`,
# `scaler.update()`. At the end, `w.grad` is about 1e-9. Then multiply the loss by `float("inf")` in
# another copy. Does `w` change?
#
# goal: 0 < w.grad.item() < 1e-8
# goal: happens("call _amp_foreach_non_finite_check_and_unscale_")
# hint: Which of the four calls divides `w.grad` by the factor?
# hint: If `w.grad` is about 6.6e-5, it is still multiplied by 65536. If it is 0, the loss was not
#   scaled.
# hint: `optimizer = torch.optim.SGD([w], lr=0.1)`, and one `backward` only: remove the other two.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_underflow()
    facts_of_casts()
    facts_of_a_scaler()


def facts_loss(dtype=None):
    """Return the weight, the product and the loss of the program."""
    import torch

    x, w = torch.tensor([[1e-4]]), torch.tensor([[1.0]], requires_grad=True)
    with torch.autocast("cpu", dtype=dtype or torch.float16):
        y = torch.mm(x, w)
    return w, y, y.float().sum() * 1e-5


def facts_of_underflow():
    """Check that the gradient is lost in float16, and kept with a factor or with bfloat16."""
    import torch

    w, y, loss = facts_loss()
    assert (y.dtype, w.dtype) == (torch.float16, torch.float32)
    loss.backward(retain_graph=True)
    assert w.grad.item() == 0
    assert w.grad.dtype == torch.float32
    w.grad = None
    (loss * 65536).backward()
    assert 9e-10 < w.grad.item() / 65536 < 1.1e-9
    smallest = torch.tensor(6e-8).half()
    assert smallest.item() > 0
    assert torch.tensor(2.9e-8).half().item() == 0
    w, y, loss = facts_loss(torch.bfloat16)
    loss.backward()
    assert w.grad.item() > 0


def facts_of_casts():
    """Check the Node of the cast of the weight, and that a weight is cast once in a block."""
    import torch

    x, w = torch.tensor([[1e-4]]), torch.tensor([[1.0]], requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        first, second = torch.mm(x, w), torch.mm(x, w)
    cast = first.grad_fn.next_functions[1][0]
    assert cast.name() == "ToCopyBackward0"
    assert cast is second.grad_fn.next_functions[1][0], "one cast for both products"
    assert cast.next_functions[0][0].variable is w
    assert first.grad_fn._saved_self.dtype == torch.float16


def facts_of_a_scaler():
    """Check a solution of the last task, and a step that is skipped."""
    import torch

    def stepped(factor):
        w, _, loss = facts_loss()
        optimizer = torch.optim.SGD([w], lr=1e6)
        scaler = torch.amp.GradScaler("cpu")
        assert scaler.get_scale() == 65536
        scaler.scale(loss * factor).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return w.grad.item(), w.item() != 1, scaler.get_scale()

    gradient, changed, scale = stepped(1)
    assert 9e-10 < gradient < 1.1e-9
    assert changed
    assert scale == 65536
    _, changed, scale = stepped(float("inf"))
    assert not changed, "the step is skipped"
    assert scale == 32768


def check(trace):
    """Check the casts, the two passes, and which gradient is 0."""
    from dispatchviz.core.record import events as ev

    assert_subsequence(
        trace,
        [
            call("aten::mm", "AutocastCPU"),
            event(ev.AutocastCast, how="cast and kept"),
            call("aten::mm", "AutogradCPU"),
            node_created("MmBackward0"),
            event(ev.AutocastCacheCleared, casts=1),
            node_ran("MmBackward0"),
            event(ev.GradientAccumulated),
            event(ev.GradSet, result=None),
            node_ran("MmBackward0"),
            event(ev.GradientAccumulated),
        ],
    )

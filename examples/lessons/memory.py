# # Where does the memory of a training step go?
#
# Training takes more memory than the parameters of a model. Nodes keep tensors from the forward pass
# to the backward pass, and no variable shows them. Mixed precision makes most of them smaller, but it
# can also keep one tensor in two dtypes.
#
# Before you look: which tensors of this step must wait for the backward pass, how many bytes has
# each, and on which line is the peak? `x` has 64 * 32 numbers, `h` has 64 * 16.

import torch

x = torch.ones(64, 32)
w = torch.full((32, 16), 0.1, requires_grad=True)
for _ in range(2):
    with torch.autocast("cpu", torch.bfloat16):
        h = (x @ w).relu()
    loss = h.float().square().mean()
    loss.backward()

# ## Predict
#
# predict: call matmul
# Autocast gets the call first. Its kernel makes bfloat16 copies of `x` and `w`, and passes the
# copies on. Everything below works with them.
#
# ## Run
#
# stop: event VariableSaved
# Press `M`: this pane shows the memory that Nodes keep. The gradient of `w` needs `x`, and the Node
# saves the copy that it got. The program holds `x` in float32 as well, so these numbers are in
# memory twice: 8,192 bytes and 4,096 bytes. The Node does not save the copy of `w`, because only a
# gradient of `x` would need it.
#
# stop: second event VariableSaved
# The Node of `relu` saves the result, `h`. That costs nothing as long as the variable `h` holds it
# too.
#
# stop: third event VariableSaved
# This is the peak, 10,240 bytes. The Node of `square` saves its input, a new float32 copy of `h`,
# while the Node of `relu` keeps `h` in bfloat16. No variable has the copy: only the graph keeps it.
#
# ## Investigate
#
# predict: run ReluBackward0
# The Nodes run from the last to the first. PowBackward0, the Node of `square`, has run and dropped
# its tensor. The pane shows how the memory goes down, Node by Node.
#
# stop: event VariablesReleased in `loss.backward()`
# This is the moment when a Node drops its tensors: right after it has run. A tensor goes away as
# soon as nothing else keeps it, while the backward pass still runs.
#
# stop: last event VariableSaved
# In the second iteration the peak is the same, because nothing is left of the first. Without the
# backward pass, `total = total + loss` would keep every graph with its tensors, and the bars of the
# pane would rise from iteration to iteration.
#
# ## Modify
#
# Leave out `.float()` in a copy of the program. How many bytes has the peak then? Why does the Node
# of `square` add none?
#
# ## Make
#
# Write a training step with two layers and `exp` between them, and one with `square` instead. Which
# one keeps less memory? Which tensor do two Nodes share? Draw both with
# `dispatchviz export FILE -o memory.svg --picture memory`.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_what_is_kept()
    facts_of_the_end()
    facts_of_the_change()
    facts_of_a_sum_of_losses()
    facts_of_the_exercise()


def facts_step(square_of):
    """Return the tensors of a step, the loss last."""
    import torch

    x = torch.ones(64, 32)
    w = torch.full((32, 16), 0.1, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        h = (x @ w).relu()
    return x, w, h, square_of(h).square().mean()


def facts_nodes(loss):
    """Return the Nodes of the sum, the square, the ReLU and the product."""
    square = loss.grad_fn.next_functions[0][0]
    below = square.next_functions[0][0]
    relu = below.next_functions[0][0] if type(below).__name__ == "ToCopyBackward0" else below
    return square, relu, relu.next_functions[0][0]


def facts_of_what_is_kept():
    """Check the sizes, the dtypes and the sharing of the saved tensors."""
    import torch

    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::matmul", "AutocastCPU")
    x, _, h, loss = facts_step(torch.Tensor.float)
    square, relu, product = facts_nodes(loss)
    assert [type(node).__name__ for node in (square, relu, product)] == ["PowBackward0", "ReluBackward0", "MmBackward0"]
    copy, result, last = product._saved_self, relu._saved_result, square._saved_self
    assert (x.dtype, x.nbytes) == (torch.float32, 8192)
    assert (copy.dtype, copy.nbytes) == (torch.bfloat16, 4096)
    assert torch.equal(copy.float(), x)
    assert copy.data_ptr() != x.data_ptr()
    assert product._saved_mat2 is None, "only a gradient of x would need it"
    assert result.data_ptr() == h.data_ptr(), "no memory is added"
    assert (result.dtype, result.nbytes) == (torch.bfloat16, 2048)
    assert (last.dtype, last.nbytes) == (torch.float32, 4096)
    assert torch.equal(last, h.float())
    assert copy.nbytes + result.nbytes + last.nbytes == 10240


def facts_of_the_end():
    """Check that a Node drops its tensors when it has run, before the next Node runs."""
    import torch

    *_, loss = facts_step(torch.Tensor.float)
    square, relu, _ = facts_nodes(loss)
    seen = []

    def saved():
        try:
            return square._saved_self is not None
        except RuntimeError:
            return False

    square.register_prehook(lambda gradients: seen.append(saved()))
    relu.register_prehook(lambda gradients: seen.append(saved()))
    loss.backward()
    assert seen == [True, False]


def facts_of_the_change():
    """Check that without float() the square keeps the tensor that the ReLU keeps anyway."""
    *_, loss = facts_step(lambda h: h)
    square, relu, product = facts_nodes(loss)
    assert square._saved_self.data_ptr() == relu._saved_result.data_ptr()
    assert product._saved_self.nbytes + relu._saved_result.nbytes == 6144


def facts_of_a_sum_of_losses():
    """Check that a sum keeps the saved tensors of each loss."""
    import torch

    total = sum(facts_step(torch.Tensor.float)[-1] for _ in range(2))
    second = total.grad_fn.next_functions[1][0]
    first = total.grad_fn.next_functions[0][0].next_functions[0][0]
    for mean in (first, second):
        assert mean.next_functions[0][0]._saved_self.nbytes == 4096


def facts_of_the_exercise():
    """Check that a layer after exp saves the tensor that exp has saved, and one after square another tensor."""
    import torch

    def shares(function):
        x, w = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
        y = function(x @ w) @ w
        below = y.grad_fn.next_functions[0][0]
        kept = below._saved_result if hasattr(below, "_saved_result") else below._saved_self
        return y.grad_fn._saved_self.data_ptr() == kept.data_ptr()

    assert shares(torch.exp)
    assert not shares(torch.square)


def check(trace):
    """Check the memory at the peak, its line, and that nothing is left."""
    from dispatchviz.core.record import events as ev
    from dispatchviz.explain.graph.memory.memory_card import memory_card

    card = memory_card(trace, trace.steps_of(ev.VariableSaved)[2])
    assert (card.total, card.peak, card.unnamed, card.copied) == (10240, 10240, 8192, 8192)
    assert card.peak_at.step == trace.steps_of(ev.VariableSaved)[2]
    assert memory_card(trace, len(trace) - 1).total == 0
    assert_count(trace, event(ev.VariableSaved), 6)
    assert_subsequence(trace, [node_ran("PowBackward0"), event(ev.VariablesReleased), node_ran("ReluBackward0")])

# # Why does checkpoint run the forward again?
#
# A deep model saves tensors in every layer and frees them only in backward. `checkpoint` saves the
# input of a block and none of the tensors inside. But the Nodes inside still need their tensors in
# backward. Where do these come from?

import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    print("block runs")
    h = x.exp()
    return h.sin()


x = torch.ones(3, requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
z = y.sum()
z.backward()

# ## Predict
#
# `exp` saves its result, and `sin` saves its input. Both are `h`. Without `checkpoint` the graph
# keeps `h` until backward.
#
# predict: Node ExpBackward0
# The graph of the block is complete: its Nodes, their edges, their numbers. `checkpoint` changes
# only what the Nodes keep.
#
# stop: event SavedTensorHookRan
# `checkpoint` is a pair of saved-tensor hooks. Its pack hook returns a holder with no numbers in
# it. So `h` is freed when `block` returns.
#
# ## Run
#
# stop: `z.backward()`
# ask: How many times will `block` have run when this line is done?
# - 2: once more for all its Nodes
# - 3: once more for each of its Nodes
#   The second run fills the holders of all Nodes at once.
# answer: count('printed "block runs"') -> 2
# because: The first Node that asks for its tensor runs the block again, and that serves the other
# Node, too.
#
# predict: run SinBackward0
# The order is the same as without `checkpoint`. But this Node needs `h`, and its holder is empty.
#
# stop: second printed "block runs"
# The unpack hook of the holder runs the block again. Look at pane 4: `block` is called within
# `backward`, from SinBackward0.
#
# ## Investigate
#
# stop: error
# ask: Will the second run compute the numbers of `sin` again?
# - yes
#   Only its input is needed, not its result.
# - no
# answer: count("kernel wrapper_CPU_sin") > 1 -> no
# because: When the last holder is filled, `checkpoint` raises an error of its own, which ends the
# second run.
#
# Nothing needs the result of the second run. `checkpoint` catches this error.
#
# stop: event NodeDeleted
# The second run has recorded Nodes of its own. They are freed without having run. Backward goes on
# with the Nodes of the first run, and only the tensors come from the second.
#
# stop: last run ExpBackward0
# Its holder is filled, so nothing runs a third time.
#
# stop: x.grad
# The gradient is the same as without `checkpoint`. The price is time: nearly a second forward of
# the block. The gain is memory. If a model has many blocks, the inner tensors of only one exist at
# a time.
#
# ## Modify
#
# In a copy of the program, let `block` multiply by `torch.rand(3)`. The second run must use the
# same numbers. How does it get them? Look at the argument `preserve_rng_state`. Then pass
# `use_reentrant=True`. Which Node does `y` have now?
#
# ## Make
#
# Write two blocks, `first` and `second`. Each appends its own name to a list `ran` and calls an
# operator whose Node saves a tensor. Checkpoint both, one after the other, and call `backward`.
# Guess the four names of the list before you look.
#
# goal: ran == ["first", "second", "second", "first"]
# hint: In which order does backward need the tensors of the two blocks?
# hint: A block runs again when the first of its Nodes needs a tensor. If its operator saves none,
#   the block does not run again.
# hint: `h = checkpoint(first, x, use_reentrant=False)`, then
#   `checkpoint(second, h, use_reentrant=False)`, with `x.exp()` and `x.sin()` in the blocks.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_the_second_run()
    facts_of_random_numbers()
    facts_of_two_blocks()


def facts_of_the_second_run():
    """Check what the first run keeps, and where the second one ends."""
    import weakref

    import torch
    from torch.utils.checkpoint import checkpoint

    begun, ended, held = [], [], []

    def block(x):
        begun.append(torch.is_grad_enabled())
        h = x.exp()
        held.append(weakref.ref(h))
        result = h.sin()
        ended.append(result)
        return result

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    assert held[0]() is None, "freed when the block returns"
    assert y.grad_fn.name() == "SinBackward0"
    assert y.grad_fn.next_functions[0][0].name() == "ExpBackward0"
    y.sum().backward()
    assert begun == [True, True]
    assert len(ended) == 1, "the second run does not come to its end"
    plain = torch.ones(3, requires_grad=True)
    plain.exp().sin().sum().backward()
    assert torch.equal(x.grad, plain.grad)
    reentrant = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=True)
    assert reentrant.grad_fn.name() == "CheckpointFunctionBackward"


def facts_of_random_numbers():
    """Check that the second run gets the same random numbers."""
    import torch
    from torch.utils.checkpoint import checkpoint

    drawn = []

    def block(x):
        drawn.append(torch.rand(3))
        return (x * drawn[-1]).sin()

    x = torch.ones(3, requires_grad=True)
    checkpoint(block, x, use_reentrant=False).sum().backward()
    assert torch.equal(drawn[0], drawn[1])
    drawn.clear()
    checkpoint(block, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    assert not torch.equal(drawn[0], drawn[1])


def facts_of_two_blocks():
    """Check a solution of the last task."""
    import torch
    from torch.utils.checkpoint import checkpoint

    ran = []

    def first(x):
        ran.append("first")
        return x.exp()

    def second(x):
        ran.append("second")
        return x.sin()

    x = torch.ones(3, requires_grad=True)
    h = checkpoint(first, x, use_reentrant=False)
    checkpoint(second, h, use_reentrant=False).sum().backward()
    assert ran == ["first", "second", "second", "first"]


def check(trace):
    """Check that the block runs once more within backward, and not to its end."""
    from dispatchviz.core.record import events as ev

    assert_count(trace, event(ev.Printed, text="block runs\n"), 2)
    assert_count(trace, kernel("wrapper_CPU_exp"), 2)
    assert_count(trace, kernel("wrapper_CPU_sin"), 1)
    assert_subsequence(
        trace,
        [
            node_created("ExpBackward0"),
            node_created("SinBackward0"),
            node_ran("SinBackward0"),
            event(ev.Printed, text="block runs\n"),
            node_created("ExpBackward0"),
            event(ev.ErrorRaised),
            event(ev.NodeDeleted),
            node_ran("ExpBackward0"),
        ],
    )
    assert_count(trace, node_ran("ExpBackward0"), 1)

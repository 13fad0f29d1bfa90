# # What is in a Node?
#
# `grad_fn` is a Node: a C++ class with fourteen members, defined in torch/csrc/autograd/node.h.
# Backward knows your program only from these members and those of its subclasses. When is each
# member set, and which code reads it? Below, `x` requires grad and `w` does not. What must be kept
# for the gradient of `x`, and what can be left out?

import torch

x = torch.tensor([2.0, 3.0], requires_grad=True)
w = torch.tensor([4.0, 5.0])
y = x * w
y.register_hook(lambda grad: grad * 10)
y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: None)
y.sum().backward()

# ## Predict
#
# predict: Node MulBackward0
# The constructor sets the numbers: `sequence_nr_` from a counter of the thread, and `thread_id_`.
# They record when and where the Node was created. Press `O`: this view stays open and shows the
# members as they are set.
#
# stop: event EdgesCollected in `x * w`
# This step sets `next_edges_`. An Edge is a Node and an `input_nr`, the number of that Node's
# input. The second edge is empty, because `w` does not require grad. Only the edges know where a
# gradient goes: a Node has no links to the Nodes that lead to it.
#
# stop: event VariableNotSaved in `x * w`
# This is not a member of Node, but of its subclass MulBackward0. `self` would be needed only for
# the gradient of `w`. `should_compute_output(1)` checks the second edge, which is empty, so `self`
# is not saved.
#
# stop: event HistorySet in `x * w`
# `y` gets its Node, and the Node learns about `y`: `input_metadata_` has shape, dtype and device
# of each output of the call. The engine uses it to check and to shape incoming gradients. Outputs
# of `mul` are inputs of its Node.
#
# ## Run
#
# stop: event HookRegistered in `y.register_hook`
# This step fills `tensor_pre_hooks_`. A hook of the tensor `y` is kept in the Node of `y`, because
# the engine knows only Nodes and gradients, not `y`. The next line's hook goes to `post_hooks_`,
# and `O` shows two more lists.
#
# ## Investigate
#
# predict: event DependenciesCounted
# The count is not a member. It belongs to one backward pass, and two passes may run through the
# same Node. So it is kept in the GraphTask, which pane 9 shows.
#
# stop: run MulBackward0
# `operator()` calls the virtual `apply`, the only function that each Node class must implement. It
# checks `task_should_compute_output` for each edge: does the edge exist, and does this pass want
# its gradient?
#
# stop: event VariablesReleased
# This is `release_variables()`. The saved tensors are gone, but the Node is not: `y` still holds
# it, with its numbers, edges and hooks. `mutex_` is locked meanwhile, because another thread may
# run the Node.
#
# predict: x.grad
# The first edge has led here. AccumulateGrad has no edges of its own: its `next_edges_` are empty.
# It writes to a member of its class, `variable`.
#
# ## Modify
#
# stop: `y = x * w`
# Press `W` and run this line with `requires_grad` of `w` on. Guess first which of these change:
# the two edges, `sequence_nr_`, the saved tensors, `input_metadata_`.
#
# ## Make
#
# `next_functions`, `_input_metadata`, `_sequence_nr()` and the names with `_saved_` are the
# members as Python sees them. Write a function that walks from a `grad_fn` to all Nodes and prints
# them, and try it on a program of your own.


def facts():
    """Check the claims of the prose against PyTorch."""
    import re
    from pathlib import Path

    import torch

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    w = torch.tensor([4.0, 5.0])
    y = x * w
    node = y.grad_fn
    assert isinstance(node, torch.autograd.graph.Node)
    assert y.grad_fn is node
    (leaf, input_nr), second = node.next_functions
    assert (type(leaf).__name__, input_nr, second) == ("AccumulateGrad", 0, (None, 0))
    assert torch.equal(node._saved_other, w)
    assert node._saved_self is None, "spared"
    assert len(node._input_metadata) == 1, "outputs of mul are inputs of its Node"
    assert node._input_metadata[0].shape == [2]
    assert (node._input_metadata[0].dtype, node._input_metadata[0].device.type) == (torch.float32, "cpu")
    number = node._sequence_nr()
    assert (x * w).grad_fn._sequence_nr() == number + 1, "from a counter"
    y.register_hook(lambda grad: grad * 10)
    after = []
    node.register_hook(lambda grad_inputs, grad_outputs: after.append(grad_outputs[0].tolist()))
    y.sum().backward()
    assert after == [[10, 10]], "the tensor's hook came before the Node"
    assert x.grad.tolist() == [40, 50]
    assert leaf.next_functions == ()
    assert leaf.variable is x
    assert (node.next_functions[0][0], node._sequence_nr()) == (leaf, number), "what was saved is gone, the Node is not"
    try:
        message = str(node._saved_other)
    except RuntimeError as error:
        message = str(error)
    assert "after they have already been freed" in message

    w.requires_grad_(True)
    both = (x * w).grad_fn
    assert all(each is not None for each, _ in both.next_functions)
    assert torch.equal(both._saved_self, x)

    header = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "autograd" / "node.h"
    if header.is_file():
        text = header.read_text()
        body = text[text.index("uint64_t sequence_nr_;") :].partition("\n};")[0]
        members = re.findall(r"(\w+_)(?: = \w+|\{nullptr\})?;", body)
        assert len(members) == 14, members
        for name in ("thread_id_", "mutex_", "next_edges_", "tensor_pre_hooks_", "input_metadata_"):
            assert name in members
        assert "virtual variable_list apply(variable_list&& inputs) = 0;" in text


def check(trace):
    """Check the order in which the members are set and read."""
    from dispatchviz.core.record import events

    assert_subsequence(
        trace,
        [
            node_created("MulBackward0"),
            event(events.EdgesCollected, edges=lambda edges: len(edges) == 2),
            event(events.VariableSaved, name="other"),
            event(events.VariableNotSaved, name="self", edge=1),
            event(events.HistorySet, output_nr=0),
            event(events.HookRegistered, kind="tensor pre hook"),
            event(events.HookRegistered, kind="post hook"),
            node_ran("MulBackward0"),
            event(events.HookRan, kind="post hook"),
            event(events.VariablesReleased),
            event(events.GradientAccumulated),
        ],
    )

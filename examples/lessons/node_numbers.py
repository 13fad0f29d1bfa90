# # Why does a Node have two numbers?
#
# A Node has a sequence number and a topological number, and both grow along the program. It seems that
# one of them would be enough. Which code uses which number, and what would go wrong with the other one?

import torch

x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([2.0], requires_grad=True)
b = x.exp().sin()
c = w.neg()
z = b + c
z.backward(retain_graph=True)
torch.autograd.grad(z, b)

# ## Predict
#
# stop: event EdgesCollected in `z = b`
# Press `O`. AddBackward0 is the fourth Node that the thread created, so its sequence number is 3.
# It is a coincidence that its topological number is also 3: that is one more than the largest
# topological number to which its edges lead. Look at NegBackward0 in pane 6: it has 2 and 1. Guess
# which number decides what the engine does.
#
# predict: run NegBackward0
# Both Nodes are ready. No edge orders them, so any order would be valid, and the sequence number
# decides: later in the forward pass is earlier in the backward pass.
#
# ## Run
#
# predict: first run AccumulateGrad
# AccumulateGrad does not use the counter. Its sequence number is UINT64_MAX, the largest possible.
# So a leaf's gradient is written as soon as it is complete, before all other work. Then its memory
# need not wait in a buffer, and code that waits for `.grad` can begin. NotImplemented has this
# number, too.
#
# predict: run SinBackward0
# The neg branch is done. Compare the three answers: larger sequence numbers came first, but only
# among the Nodes that were ready.
#
# ## Investigate
#
# stop: event BackwardStarted in `autograd.grad`
# This is another backward pass, which asks only for the gradient of `b`. Which Nodes need not run?
# The engine has to find out before it starts, and it should not walk through the whole graph for
# that.
#
# stop: event ExecInfoPopulated in `autograd.grad`
# This step uses the other number. If a path leads from one Node to another, the first has the
# larger topological number. So no path leads from a Node with 1 to SinBackward0, which has 2, and
# the engine does not look further there.
#
# stop: event ExecInfoPopulated in `autograd.grad`
# Could the sequence number do the same? No: it is the order of creation, counted by each thread
# for itself, and a program may set it. AccumulateGrad shows this best: its sequence number is the
# largest, and its topological number is 0, because it leads nowhere.
#
# stop: event FormulaSkipped in `autograd.grad`
# The pruned Nodes do not run, and the Node before them does not even compute the gradient for
# them. This step decides nothing new: exec_info already contained the decision.
#
# ## Modify
#
# stop: `c = w.neg()`
# Swap this line with the one above and run the file with `dispatchviz run`. Guess first: which of
# the two numbers change, and for which Nodes? In which order will they run?
#
# ## Make
#
# Leave the lines as they are and make the branch of `sin` run first: `grad_fn._set_sequence_nr(n)`
# gives a Node another number. Which Nodes need one? `examples/collective_overlap.py` shows a use
# for it.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_sequence_numbers()
    facts_of_the_order()
    facts_of_set_numbers()
    facts_of_threads()
    facts_of_the_header()


def facts_program(swapped=False):
    """Return two tensors of the program, its Nodes in the order of their creation, and the Nodes of its leaves."""
    import torch

    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([2.0], requires_grad=True)
    if swapped:
        c = w.neg()
    b = x.exp().sin()
    if not swapped:
        c = w.neg()
    z = b + c
    leaves = [b.grad_fn.next_functions[0][0].next_functions[0][0], c.grad_fn.next_functions[0][0]]
    return b, z, [b.grad_fn.next_functions[0][0], b.grad_fn, c.grad_fn, z.grad_fn], leaves


def facts_order(z, nodes):
    """Return a list of the Nodes that this pass runs; each later pass adds its own."""
    ran = []
    for node in nodes:
        name = type(node).__name__.removesuffix("0")
        node.register_prehook(lambda grads, name=name: ran.append(name))
    z.backward(retain_graph=True)
    return ran


def facts_of_sequence_numbers():
    """Check that Nodes are counted as they are created, and that those that must run soon have the largest number."""
    import torch

    _, _, nodes, leaves = facts_program()
    x = torch.tensor([1.0], requires_grad=True)
    first = nodes[0]._sequence_nr()
    assert [node._sequence_nr() - first for node in nodes] == [0, 1, 2, 3]
    assert [leaf._sequence_nr() for leaf in leaves] == [2**64 - 1] * 2
    error = (x // 2).grad_fn
    assert "NotImplemented" in error.name()
    assert error._sequence_nr() == 2**64 - 1


def facts_of_the_order():
    """Check that the ready Node with the largest number runs first, and that unneeded Nodes do not run."""
    import torch

    b, z, nodes, leaves = facts_program()
    ran = facts_order(z, nodes + leaves)
    assert ran == [
        "AddBackward",
        "NegBackward",
        "AccumulateGrad",
        "SinBackward",
        "ExpBackward",
        "AccumulateGrad",
    ]
    del ran[:]
    torch.autograd.grad(z, b)
    assert ran == ["AddBackward"], "the others need not run"

    _, z, nodes, _ = facts_program(swapped=True)
    assert facts_order(z, nodes)[:2] == ["AddBackward", "SinBackward"]


def facts_of_set_numbers():
    """Check that a branch comes first if all its Nodes have larger numbers."""
    _, z, nodes, _ = facts_program()
    nodes[1]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    nodes[0]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    assert facts_order(z, nodes) == ["AddBackward", "SinBackward", "ExpBackward", "NegBackward"]
    _, z, nodes, _ = facts_program()
    nodes[1]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    assert facts_order(z, nodes) == ["AddBackward", "SinBackward", "NegBackward", "ExpBackward"], "one is not enough"


def facts_of_threads():
    """Check that each thread counts for itself."""
    import threading

    counted = []
    other = threading.Thread(target=lambda: counted.append(facts_program()[2][0]._sequence_nr()))
    other.start()
    other.join()
    assert counted == [0], "each thread for itself"


def facts_of_the_header():
    """Check how PyTorch computes topological_nr_."""
    from pathlib import Path

    import torch

    header = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "autograd" / "node.h"
    if header.is_file():
        text = " ".join(header.read_text().replace("//", " ").replace("*", " ").split())
        assert "topological_nr_ = topo_nr + 1" in text, "one more than the largest to which an edge leads"
        assert "uint64_t topological_nr_ = 0;" in text


def check(trace):
    """Check which Node waits while another runs, and where the search of the second pass stops."""
    from dispatchviz.core.record import events

    assert_subsequence(
        trace,
        [
            event(events.NodeCreated, name="AddBackward0", sequence_nr=3),
            event(events.EdgesCollected, topological_nr=3),
            node_ran("NegBackward0"),
            node_ran("torch::autograd::AccumulateGrad"),
            node_ran("SinBackward0"),
            node_ran("ExpBackward0"),
            event(events.DependenciesCounted, min_topo_nr=2),
            event(events.ExecInfoPopulated, needed=lambda needed: len(needed) == 1),
            event(events.FormulaSkipped, edge=1),
            event(events.NodeSkipped),
        ],
    )
    assert_count(trace, node_ran("NegBackward0"), 1)

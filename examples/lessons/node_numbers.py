# # Why does a Node have two numbers?
#
# A Node has a sequence number and a topological number, and both grow along the program. It looks
# as if one would do. Who reads which, and what would go wrong with the other one?

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
# Press `O`. AddBackward0 is the fourth Node that the thread made, so its sequence number is 3.
# That its topological number is 3, too, is chance: it is one more than the largest to which an
# edge leads. Look at NegBackward0 in pane 6: 2 and 1. Guess which number decides what the engine
# does.
#
# predict: run NegBackward0
# Both Nodes are ready. No edge orders them, so their order is free, and the sequence number
# chooses it: later in the forward is earlier in the backward.
#
# ## Run
#
# predict: first run AccumulateGrad
# AccumulateGrad is not numbered by the counter. Its sequence number is UINT64_MAX, the largest
# there is: as soon as a leaf's gradient is complete it is written, before all other work. Then its
# memory need not wait in a buffer, and whoever waits for `.grad` can begin. NotImplemented has
# that number, too.
#
# predict: run SinBackward0
# The neg branch is done with. Read the three answers again: larger sequence numbers came first,
# but only among the Nodes that were ready.
#
# ## Investigate
#
# stop: event BackwardStarted in `autograd.grad`
# Another backward: it asks for the gradient of `b` alone. Which Nodes need not run? The engine has
# to find that out before it starts, and it should not walk through the whole graph for it.
#
# stop: event ExecInfoPopulated in `autograd.grad`
# Here is the reader of the other number. If a path leads from one Node to another, its topological
# number is larger. So from 1 no path leads to SinBackward0, which has 2: what is behind it is not
# looked at.
#
# stop: event ExecInfoPopulated in `autograd.grad`
# Could it be the sequence number? No: it is an order of making, counted by each thread for itself,
# and may be set. AccumulateGrad shows it best: the largest of one, and 0 of the other, as it leads
# nowhere.
#
# stop: event FormulaSkipped in `autograd.grad`
# What was pruned does not run, and more: the Node before it does not even compute the gradient
# that would go there. Nothing new was decided in this step, it was all in exec_info.
#
# ## Modify
#
# stop: `c = w.neg()`
# Exchange this line with the one above and run the file with `dispatchviz run`. Guess first: which
# of the two numbers change, and for which Nodes? In what order will they run?
#
# ## Make
#
# Leave the lines as they are and let the branch of `sin` run first: `grad_fn._set_sequence_nr(n)`
# gives a Node another number. Which Nodes need one? `examples/collective_overlap.py` shows what it
# is good for.


def facts():
    """What the prose says of PyTorch."""
    facts_of_sequence_numbers()
    facts_of_the_order()
    facts_of_set_numbers()
    facts_of_threads()
    facts_of_the_header()


def facts_program(swapped=False):
    """The program: two of its tensors, its Nodes in the order in which they are made, its leaves' Nodes."""
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
    """A list of the Nodes that run: those of a pass from here, then of each one that follows."""
    ran = []
    for node in nodes:
        name = type(node).__name__.removesuffix("0")
        node.register_prehook(lambda grads, name=name: ran.append(name))
    z.backward(retain_graph=True)
    return ran


def facts_of_sequence_numbers():
    """Nodes are counted as they are made; those that must run soon have the largest number."""
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
    """The largest number of those that are ready runs first; what is not needed does not run."""
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
    """A branch comes first if all its Nodes have larger numbers."""
    _, z, nodes, _ = facts_program()
    nodes[1]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    nodes[0]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    assert facts_order(z, nodes) == ["AddBackward", "SinBackward", "ExpBackward", "NegBackward"]
    _, z, nodes, _ = facts_program()
    nodes[1]._set_sequence_nr(nodes[3]._sequence_nr() + 1)
    assert facts_order(z, nodes) == ["AddBackward", "SinBackward", "NegBackward", "ExpBackward"], "one is not enough"


def facts_of_threads():
    """Each thread counts for itself."""
    import threading

    counted = []
    other = threading.Thread(target=lambda: counted.append(facts_program()[2][0]._sequence_nr()))
    other.start()
    other.join()
    assert counted == [0], "each thread for itself"


def facts_of_the_header():
    """How PyTorch computes topological_nr_."""
    from pathlib import Path

    import torch

    header = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "autograd" / "node.h"
    if header.is_file():
        text = " ".join(header.read_text().replace("//", " ").replace("*", " ").split())
        assert "topological_nr_ = topo_nr + 1" in text, "one more than the largest to which an edge leads"
        assert "uint64_t topological_nr_ = 0;" in text


def check(trace):
    """Which Node waits while another runs, and what the pass does not look at."""
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

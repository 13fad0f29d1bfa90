# # What is left out when only some gradients are asked for?
#
# `grad(z, w)` and `backward(inputs=[h, k])` ask for some gradients, and the graph is the whole
# graph. Leaving the rest out saves time, and keeps `.grad` of all other leaves as it is. Three
# things decide: the engine's map of needed Nodes (exec_info), the topological numbers, and each
# Node, for each of its edges.

import torch

x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
k = w.exp()
h = x * x
z = torch.dot(h, k)
(of_w,) = torch.autograd.grad(z, w, retain_graph=True)
z.backward(inputs=[h, k])

# ## Predict
#
# First only `w`'s gradient is asked for. Write down which Nodes that needs. Will anything be
# counted for `x`?
#
# predict: event DependenciesCounted
# Here all edges are counted, also those to what will never run: the engine counts first and asks
# afterwards what is needed. The count turns back only at Nodes with a smaller topological number
# than all that is asked for, and a leaf's is 0. A Node on no path to what is needed is never queued,
# whatever its count is.
#
# stop: event ExecInfoPopulated
# Compare it with your list. A plain `backward` leaves exec_info empty, and then everything runs.
#
# ## Run
#
# stop: event FormulaSkipped
# Within a Node pruning goes on. `dot` has a formula for each of its two arguments, and asks
# before each whether the Node behind that edge is needed. One product is computed in place of
# two.
#
# stop: event GradientCaptured
# Here the gradient leaves the graph. `w`'s AccumulateGrad is not called, so `w.grad` stays None:
# that is the difference between `grad` and `backward`.
#
# ## Investigate
#
# stop: second event ExecInfoPopulated
# Now `h` and `k` are asked for. Their Nodes have the topological number 1: no path on from them
# has more than one edge. A path only leads from larger numbers to smaller ones, so the search for
# needed Nodes turns back at every Node below 1, without a look at what is behind it.
#
# predict: run MulBackward0
# `backward(inputs=)` needs the Nodes of `h` and of `k` themselves, so they run, in the order of
# any backward pass. What they would return nobody needs: their formulas are skipped. `grad(z, h)`
# does not run the Node of `h`.
#
# stop: event GradSet
# `inputs=` has called `retain_grad` for `h` and `k`, which are no leaves. So `h.grad` is written
# before the Node of `h` runs, by a hook.
#
# ## Modify
#
# Go to the line `h = x * x` and press `W`: `requires_grad` of `x` off. What is left out of the
# first pass now, and what does the second one say? Then write `inputs=[x]` in a copy of the
# program: for which reason is each Node left out there?
#
# ## Make
#
# Write a program in which `backward(inputs=)` runs fewer than half of the Nodes that `backward`
# runs.


def facts():
    """What the prose says of PyTorch."""
    import torch

    def graph():
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        k = w.exp()
        h = x * x
        z = torch.dot(h, k)
        leaves = {"x": h.grad_fn.next_functions[0][0], "w": k.grad_fn.next_functions[0][0]}
        nodes = {"Dot": z.grad_fn, "Mul": h.grad_fn, "Exp": k.grad_fn, **leaves}
        ran = []
        for name, node in nodes.items():
            node.register_prehook(lambda gradients, name=name: ran.append(name))
        return x, w, h, k, z, ran, nodes

    x, w, h, k, z, ran, nodes = graph()
    returned = []
    nodes["Dot"].register_hook(lambda results, _: returned.append([r is not None for r in results]))
    (of_w,) = torch.autograd.grad(z, w, retain_graph=True)
    assert ran == ["Dot", "Exp"], "neither w's own Node nor anything towards x"
    assert returned == [[False, True]], "dot has computed one gradient of two"
    assert torch.allclose(of_w, torch.ones(2).exp())
    assert w.grad is None
    assert x.grad is None

    ran.clear()
    assert not h.retains_grad
    z.backward(inputs=[h, k])
    assert ran == ["Dot", "Mul", "Exp"], "the Nodes of h and k themselves run, no leaf's does"
    assert x.grad is None
    assert w.grad is None
    assert h.retains_grad
    assert torch.equal(h.grad, k.detach())

    x, w, h, k, z, ran, nodes = graph()
    before = []
    h.retain_grad()
    nodes["Mul"].register_prehook(lambda gradients: before.append(h.grad is not None))
    z.backward(inputs=[h], retain_graph=True)
    assert before == [True], "h.grad is written before the Node of h runs"
    ran.clear()
    torch.autograd.grad(z, h, retain_graph=True)
    assert ran == ["Dot"], "grad does not run the Node of h"
    ran.clear()
    z.backward()
    assert sorted(ran) == sorted(nodes), "a plain backward runs everything"


def check(trace):
    """What ran in which pass, and what was left out for which reason."""
    from dispatchviz.core.record import events as ev

    nodes = ["DotBackward0", "ExpBackward0", "DotBackward0", "MulBackward0", "ExpBackward0"]
    assert_sequence(trace, [node_ran(name) for name in nodes])
    first, second = (each for each in trace if isinstance(each, ev.ExecInfoPopulated))
    assert {why for _, why in first.pruned} == {"should_execute"}
    assert {why for _, why in second.pruned} == {"topological_nr"}
    assert_count(trace, event(ev.GradientCaptured), 1)
    assert_count(trace, event(ev.GradSet, retained=True), 2)
    assert_never(trace, event(ev.GradientAccumulated))

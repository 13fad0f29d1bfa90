# # What does a pass skip if you ask for some gradients only?
#
# `grad(z, w)` and `backward(inputs=[h, k])` ask for some gradients, but the graph is the whole
# graph. Skipping the rest saves time and leaves `.grad` of all other leaves unchanged. Three
# things decide what is skipped: the engine's map of needed Nodes (exec_info), the topological
# numbers, and each Node itself, for each of its edges.

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
# The first pass asks only for the gradient of `w`. Write down the Nodes that it needs. Will the
# engine count anything for `x`?
#
# predict: event DependenciesCounted
# Here all edges are counted, including those to Nodes that will never run: the engine counts first
# and decides afterward what it needs. The count stops only at Nodes whose topological number is
# smaller than that of every requested Node, and a leaf has 0. A Node on no path to a requested
# gradient is never queued, regardless of its count.
#
# stop: event ExecInfoPopulated
# Compare this with your list. A plain `backward` leaves exec_info empty, and then everything runs.
#
# ## Run
#
# stop: event FormulaSkipped
# Pruning continues inside a Node. `dot` has a formula for each of its two arguments, and checks
# before each one whether the Node behind that edge is needed. It computes one product instead of
# two.
#
# stop: event GradientCaptured
# Here the gradient leaves the graph. `w`'s AccumulateGrad is not called, so `w.grad` stays None.
# That is the difference between `grad` and `backward`.
#
# ## Investigate
#
# stop: second event ExecInfoPopulated
# Now `h` and `k` are requested. Their Nodes have the topological number 1: no path from them is
# longer than one edge. A path leads only from larger to smaller numbers, so the search for needed
# Nodes stops at every Node below 1 without looking further.
#
# predict: run MulBackward0
# `backward(inputs=)` needs the Nodes of `h` and `k` themselves, so they run, in the order of any
# backward pass. Their results are not needed, so their formulas are skipped. `grad(z, h)` does not
# run the Node of `h`.
#
# stop: event GradSet
# `inputs=` has called `retain_grad` for `h` and `k`, because they are not leaves. So a hook writes
# `h.grad` before the Node of `h` runs.
#
# ## Modify
#
# Go to the line `h = x * x` and press `W`: switch `requires_grad` of `x` off. What does the first
# pass skip now, and which error does the second one raise? Then write `inputs=[x]` in a copy of
# the program: for which reason is each Node skipped there?
#
# ## Make
#
# Write a program in which `backward(inputs=)` runs fewer than half of the Nodes that `backward`
# runs.


def facts():
    """Check the claims of the prose against PyTorch."""
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
    """Check which Nodes each pass ran, and why the others were pruned."""
    from dispatchviz.core.record import events as ev

    nodes = ["DotBackward0", "ExpBackward0", "DotBackward0", "MulBackward0", "ExpBackward0"]
    assert_sequence(trace, [node_ran(name) for name in nodes])
    first, second = (each for each in trace if isinstance(each, ev.ExecInfoPopulated))
    assert {why for _, why in first.pruned} == {"should_execute"}
    assert {why for _, why in second.pruned} == {"topological_nr"}
    assert_count(trace, event(ev.GradientCaptured), 1)
    assert_count(trace, event(ev.GradSet, retained=True), 2)
    assert_never(trace, event(ev.GradientAccumulated))

"""Why the engine runs Nodes as it does."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

ENGINE_H = "torch/csrc/autograd/engine.h"

ENGINE = (
    Reason(
        "counts",
        "Why does the engine count before it runs?",
        "What several operators have used gets a gradient from each, and the formula of its Node needs their sum. So "
        "the Node must wait for the last one. The engine walks the graph first and counts the edges that lead to each "
        "Node. Each gradient that arrives is added to the Node's input buffer and takes one off the count; at zero "
        "the Node is ready.",
        "the counts, and for which Node one of them gets smaller.",
        Source(ENGINE_H, "compute_dependencies"),
        (seen(ev.DependenciesCounted), seen(ev.DependencyMet), seen(ev.GradientBuffered)),
        "examples/forum.py",
    ),
    Reason(
        "sequence-numbers",
        "Why do Nodes run by sequence number?",
        "The counts say which Nodes may run, not which of them goes first. Numbers are given out as Nodes are made, so "
        "the largest is that of the last call in forward, and of all ready Nodes the engine takes this one: backward "
        "goes the way of forward in reverse. The order can be changed: a Node that is given a larger number runs "
        "earlier, which lets a collective begin before other work.",
        "the Nodes that wait in the ready queue, with their numbers, and the one that is taken.",
        Source(ENGINE_H, "CompareNodeTaskTime"),
        (seen(ev.NodeStarted), seen(ev.NodeQueued), seen(ev.SequenceNumberSet)),
        "examples/collective_overlap.py",
    ),
    Reason(
        "accumulategrad-has-the-maximum",
        "Why has AccumulateGrad the largest number?",
        "It is the end of a path: no other Node waits for it. With 2^64 - 1, the largest number that there is, it is "
        "taken as soon as it is ready, before all others. So a gradient does not wait in a buffer for the rest of "
        "backward: .grad is complete early, and hooks on it run while other Nodes still wait. That is when "
        "data-parallel training can begin to send it.",
        "what else is in the ready queue when an AccumulateGrad is taken.",
        Source("torch/csrc/autograd/functions/accumulate_grad.h", "AccumulateGrad"),
        (
            seen(ev.NodeStarted, name="*AccumulateGrad"),
            seen(ev.AccumulatorMade),
            seen(ev.GradientAccumulated),
        ),
        "examples/forum.py",
    ),
)

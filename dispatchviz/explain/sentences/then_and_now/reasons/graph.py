"""Reasons for what the graph saves, and for the order in which the engine runs Nodes."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

SAVED = "torch/csrc/autograd/saved_variable.h"

GRAPH = (
    Reason(
        "version-counters",
        "Why do tensors count versions?",
        "Many formulas need numbers of the forward, and a Node saves the tensor without a copy. If the program writes "
        "to it before backward, the formula would compute with other numbers, and the gradient would be silently "
        "wrong. So each write adds one to a counter, which all views of the same memory share. The Node stores the "
        "count when it saves the tensor and compares it when it needs the tensor. A different count is an error.",
        "the version at which a tensor is saved, and the step that increases it.",
        Source("c10/core/TensorImpl.h", "VariableVersion"),
        (seen(ev.VersionBumped), seen(ev.VariableSaved)),
        "examples/inplace_error.py",
    ),
    Reason(
        "savedvariable",
        "Why a SavedVariable, and not the tensor?",
        "A result holds its Node as grad_fn. If the Node held the result too, neither would ever be freed. So for an "
        "output, a SavedVariable keeps a tensor on the same memory without the history, and adds the Node again when "
        "it is unpacked. It also stores the version, and saved-tensor hooks can make it keep something else instead.",
        "the tensors that a Node saves, their versions, and whether they are its own outputs.",
        Source(SAVED, "SavedVariable"),
        (seen(ev.VariableSaved),),
        "examples/saved_tensors.py",
    ),
    Reason(
        "copyslices",
        "Why do views need CopySlices?",
        "A write to a view changes a part of its base. The rest of the base keeps its old history, and only that part "
        "has a new one. A Node for the base must know both, so CopySlices becomes its grad_fn. It cuts the part out "
        "of the gradient, passes it to the Node of the write, puts the result back in its place, and passes the whole "
        "gradient on to the old history. Other views get a new grad_fn from the base when their grad_fn is next read.",
        "the tensors that get a new history although only the view is written to.",
        Source("torch/csrc/autograd/functions/tensor.h", "CopySlices"),
        (seen(ev.NodeCreated, name="*CopySlices"), seen(ev.HistoryRebased), seen(ev.NodeStarted, name="*CopySlices")),
        '-c "import torch; b = torch.ones(4, requires_grad=True) * 1; b[:2].mul_(2); b.sum().backward()"',
    ),
)


ENGINE_H = "torch/csrc/autograd/engine.h"

ENGINE = (
    Reason(
        "counts",
        "Why does the engine count before it runs?",
        "A tensor that several operators use gets a gradient from each of them, and the formula of its Node needs "
        "their sum. So the Node must wait for the last gradient. The engine first walks the graph and counts the "
        "edges that lead to each Node. Each gradient that arrives is added to the Node's input buffer and decreases "
        "the count by one. At zero, the Node is ready.",
        "the counts, and the Node whose count decreases.",
        Source(ENGINE_H, "compute_dependencies"),
        (seen(ev.DependenciesCounted), seen(ev.DependencyMet), seen(ev.GradientBuffered)),
        "examples/forum.py",
    ),
    Reason(
        "sequence-numbers",
        "Why do Nodes run by sequence number?",
        "The counts say which Nodes may run, not which one runs first. Nodes get their numbers when they are created, "
        "so the last call in forward has the largest number. When several Nodes are ready, the engine runs the one "
        "with the largest number, so backward follows forward in reverse. A program can change the order: a Node with "
        "a larger number runs earlier, which lets a collective begin before other work.",
        "the Nodes in the ready queue, with their numbers, and the one that runs.",
        Source(ENGINE_H, "CompareNodeTaskTime"),
        (seen(ev.NodeStarted), seen(ev.NodeQueued), seen(ev.SequenceNumberSet)),
        "examples/collective_overlap.py",
    ),
    Reason(
        "accumulategrad-has-the-maximum",
        "Why does AccumulateGrad have the largest number?",
        "AccumulateGrad is the end of a path, and no other Node waits for it. With 2^64 - 1, the largest possible "
        "number, it runs as soon as it is ready, before all others. So a gradient does not wait in a buffer for the "
        "rest of backward. .grad is complete early, and its hooks run while other Nodes still wait. Data-parallel "
        "training can then begin to send it.",
        "the other Nodes in the ready queue when an AccumulateGrad runs.",
        Source("torch/csrc/autograd/functions/accumulate_grad.h", "AccumulateGrad"),
        (
            seen(ev.NodeStarted, name="*AccumulateGrad"),
            seen(ev.AccumulatorMade),
            seen(ev.GradientAccumulated),
        ),
        "examples/forum.py",
    ),
)
